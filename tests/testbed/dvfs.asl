// A machine with DVFS for QEMU's q35 board under software emulation.
//
// Linux's own acpi-cpufreq, ACPI power meter and thermal drivers find hardware here: every register is the
// scratch register of a UART, a byte of I/O space that can be written and read back.
//
//   0x2FF (COM2)  P-state of CPU 0, 1..6 = 3.0 2.6 2.2 1.8 1.4 1.0 GHz
//   0x3EF (COM3)  P-state of CPU 1, a policy of its own
//   0x2EF (COM4)  busy line: 1 while a workload computes
//   0x3FF (COM1)  faults on command: low nibble = firmware cap on CPU 0 (0 none, n = fastest _PSS index
//                 allowed); high nibble = power meter (0 works, 1 dead: 0 W, 2 frozen: 77 W, 3 drifts: the room
//                 warms up, and each second adds 0.3 % to the power and 0.2 C to the temperature)
//
// Power follows the P-states that are really set, at once, whatever the kernel believes:
// 20 W, and while the busy line is up each CPU's busy power. tests/system/arithmetic.py has the same table.
DefinitionBlock ("", "SSDT", 2, "DVFS", "TESTBED", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)
    OperationRegion (UAR2, SystemIO, 0x02FF, 1)
    OperationRegion (UAR3, SystemIO, 0x03EF, 1)
    OperationRegion (UAR4, SystemIO, 0x02EF, 1)
    OperationRegion (UAR1, SystemIO, 0x03FF, 1)
    Field (UAR2, ByteAcc, NoLock, Preserve) { PST0, 8 }
    Field (UAR3, ByteAcc, NoLock, Preserve) { PST1, 8 }
    Field (UAR4, ByteAcc, NoLock, Preserve) { BUSY, 8 }
    Field (UAR1, ByteAcc, NoLock, Preserve) { CAPX, 4, METR, 4 }
    Name (CAPD, 0)                  // the cap that the kernel was last told of
    Name (WARM, 0)                  // when the room began to warm up, in 100 ns of Timer; 0: it does not

    // MHz, busy mW of one processor, latency us, bus master latency us, control, status
    Name (PSTA, Package () {
        Package () { 3000, 42000, 10, 10, 1, 1 },
        Package () { 2600, 30000, 10, 10, 2, 2 },
        Package () { 2200, 21500, 10, 10, 3, 3 },
        Package () { 1800, 15500, 10, 10, 4, 4 },
        Package () { 1400, 11500, 10, 10, 5, 5 },
        Package () { 1000,  9000, 10, 10, 6, 6 }
    })

    Method (BSYW, 1)                // busy milliwatts at a P-state; a register never written counts as P0
    {
        Local0 = Arg0
        If ((Local0 == 0) || (Local0 > 6)) { Local0 = 1 }
        Return (DerefOf (DerefOf (PSTA [Local0 - 1]) [1]))
    }

    Method (WSEC, 0, Serialized)    // hundredths of a second that the room has been warming up
    {
        If (METR != 3)
        {
            WARM = 0
            Return (0)
        }
        If (WARM == 0) { WARM = Timer }
        Return ((Timer - WARM) / 100000)
    }

    Scope (\_SB.CPUS.C000)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x02FF) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x02FF) } })
        Method (_PSS) { Return (PSTA) }
        Method (_PPC) { Return (CAPD) }
        Name (_PSD, Package () { Package () { 5, 0, 0, 0xFC, 1 } })
    }
    Scope (\_SB.CPUS.C001)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x03EF) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x03EF) } })
        Method (_PSS) { Return (PSTA) }
        Method (_PPC) { Return (0) }
        Name (_PSD, Package () { Package () { 5, 0, 1, 0xFC, 1 } })
    }
    Scope (\_SB)
    {
        Device (PMTR)
        {
            Name (_HID, "ACPI000D")
            Name (_UID, 0)
            // _PMC's sixth number, the sampling time in ms, decides how often the driver asks again.
            Name (_PMC, Package () { 1, 0, 0, 1000, 10, 10, 1000, 0xFFFFFFFF, 0, 0, 0, "testbed", "0", "dvfs" })
            Method (_PMM)
            {
                // Reading power is what lets this firmware notice a new cap and tell the kernel.
                Local0 = CAPX
                If (Local0 > 5) { Local0 = 0 }
                If (Local0 != CAPD)
                {
                    CAPD = Local0
                    Notify (\_SB.CPUS.C000, 0x80)
                }
                If (METR == 1) { Return (0) }
                If (METR == 2) { Return (77000) }
                Local1 = 20000
                If (BUSY != 0) { Local1 = 20000 + BSYW (PST0) + BSYW (PST1) }
                Return (Local1 + (Local1 * WSEC () * 3) / 100000)
            }
            Method (_PAI, 1) { Return (0) }
            Method (_GAI) { Return (10) }
            Name (_PMD, Package () { \_SB })
        }
    }
    Scope (\_TZ)
    {
        ThermalZone (TZ0)
        {
            // Tenths of a kelvin.
            Method (_TMP) { Return (3132 + ((BSYW (PST0) * BUSY) / 200) + (WSEC () / 50)) }
            Method (_CRT) { Return (3932) }
        }
    }
}
