"""What README and docs show is run as it stands there, on a real kernel: README's own experiment with each of its commands, one after the other, and every experiment
or part of one that a page shows, completed by what it leaves out."""
import re
import shlex

import testbed
import yaml

ROOT = testbed.ROOT
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# A stand-in for what the examples work with: it is there in the virtual machine, and takes as long as its arithmetic says.
SORT = '#!/bin/sh\nexec dvfs-mixed 0.15 0.05\n'
# What a part of an experiment leaves out.
REST = {"name": "name: part", "workloads": 'workloads: [{name: w, command: [dvfs-mixed, "0.1", "0.05"]}]', "axes": "axes: {cpu.frequency: all}"}
PROGRAMS = ["server", "client", "infer", "train"]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def commands(text):
    """The indented lines that call the program, without the comments behind them."""
    return [re.sub(r"\s+#.*", "", line).strip() for line in re.findall(r"^    ((?:sudo )?build/release/bin/dvfs-plan .*)$", text, re.M)]


class Docs(testbed.TestbedCase):
    def test_the_readmes_own_experiment(self):
        readme = (ROOT / "README.md").read_text()
        own = readme[readme.index("## An experiment of your own"):readme.index("## Install, for all users")]
        experiment = blocks(ROOT / "README.md", "yaml")[0]
        self.assertTrue(experiment.startswith("# sort.yaml\n"))
        lines = commands(own)
        self.assertGreaterEqual(len(lines), 10, lines)
        job = ["cp /sort.yaml . && printf 'b\\na\\n' >big.txt && mkdir -p build/release && ln -s /bin build/release/bin", "sudo() { \"$@\"; }"]
        for i, line in enumerate(lines):
            # init writes the file that is there by now.
            where = "mkdir first; cd first; ln -s ../build .; " if " init " in line else ""
            job.append(f"({where}{line}) >{i}.out.txt 2>{i}.err.txt; echo $? >{i}.code.txt")
        code, console = self.testbed.run("\n".join(job), {"sort.yaml": experiment, "bin/sort": SORT})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()
        for i, line in enumerate(lines):
            with self.subTest(line):
                code = int((out / f"{i}.code.txt").read_text())
                said = (out / f"{i}.out.txt").read_text() + (out / f"{i}.err.txt").read_text()
                if " recheck " in line:
                    self.assertIn(code, (0, 7), said)
                elif " doctor" in line:
                    self.assertIn(code, (0, 3), said)
                else:
                    self.assertEqual(code, 0, said)
        self.assertIn("the least energy at cpu.frequency", (out / "sort.html").read_text())

    def test_each_part_of_an_experiment_is_understood(self):
        files, expected = {}, {}
        for page in PAGES:
            for number, text in enumerate(blocks(page, "yaml")):
                keys = yaml.safe_load(text)
                whole = text + "\n".join(line for key, line in REST.items() if key not in keys) + "\n"
                name = f"{page.stem}-{number}.yaml".lower()
                files[name] = whole
                expected[name] = "slurm" if "machines" in keys else ""
        self.assertGreaterEqual(len(files), 6)
        job = ["cp /*.yaml . ; for p in %s; do printf '#!/bin/sh\\n' >$p; chmod +x $p; done; : >big.txt" % " ".join(PROGRAMS)]
        for name in files:
            job.append(f"dvfs-plan check {shlex.quote(name)} >{name}.out.txt 2>{name}.err.txt; echo $? >{name}.code.txt")
        code, console = self.testbed.run("\n".join(job), {**files, "bin/sort": SORT})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()
        for name, needs in expected.items():
            with self.subTest(name):
                said = (out / f"{name}.out.txt").read_text() + (out / f"{name}.err.txt").read_text()
                code = int((out / f"{name}.code.txt").read_text())
                if needs:  # there is no Slurm in the virtual machine
                    self.assertEqual(code, 3, said)
                    self.assertRegex(said, r"(?i)sbatch|sinfo", name)
                else:
                    self.assertEqual(code, 0, said)


if __name__ == "__main__":
    testbed.main()
