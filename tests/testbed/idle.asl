// Idle states of the testbed's processors: C1 by HLT, and C2 by reading a port that answers at once, so that the kernel's own
// acpi_idle and menu governor choose between them and count them. A processor in "C2" really spins: only for tests that want it.
DefinitionBlock ("", "SSDT", 2, "DVFS", "IDLE", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)
    Name (IDLS, Package () {
        2,
        Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 1, 1000 },
        Package () { ResourceTemplate () { Register (SystemIO, 8, 0, 0x80) }, 2, 50, 500 }
    })
    Scope (\_SB.CPUS.C000) { Method (_CST) { Return (IDLS) } }
    Scope (\_SB.CPUS.C001) { Method (_CST) { Return (IDLS) } }
}
