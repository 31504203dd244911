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
SITE_CAP = '#!/bin/sh\ncase $1 in get) cat /tmp/cap 2>/dev/null || echo 120;; set) echo $2 >/tmp/cap;; esac\n'


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def commands(text):
    """The indented lines that call the program, without the comments behind them."""
    return [re.sub(r"\s+#.*", "", line).strip() for line in re.findall(r"^    ((?:sudo )?build/release/bin/dvfs-plan .*)$", text, re.M)]


class Docs(testbed.TestbedCase):
    def walk(self, text, experiment, name, program, after=()):
        """The commands of a text, one after the other, beside the experiment that it shows; returns the folder that they left."""
        lines = commands(text)
        self.assertGreaterEqual(len(lines), 10, lines)
        job = ["cp /%s . && printf 'b\\na\\n' >big.txt && mkdir -p build/release && ln -s /bin build/release/bin" % name, "sudo() { \"$@\"; }"]
        for i, line in enumerate(lines):
            # init writes the file that is there by now.
            where = "mkdir first; cd first; ln -s ../build .; " if " init " in line else ""
            once = f"({where}{line}) >{i}.out.txt 2>{i}.err.txt; echo $? >{i}.code.txt"
            # A rehearsal runs each work once. Beside other tests the machine may be halted for longer than its meter may be silent in a trial.
            again = f"for i in 1 2 3; do {once}; grep -q 'left too much of the trial unseen' {i}.err.txt {i}.out.txt || break; done"
            # Nor may all trials of a night be so: then it is run anew.
            anew = f"for i in 1 2 3; do {once}; [ $(cat {i}.code.txt) = 1 ] && grep -q 'left too much of the trial unseen' {i}.out.txt || break; rm -f *.sqlite*; done"
            is_a_night = re.search(r"dvfs-plan \S+\.yaml$", line)
            job.append(again if " --rehearse" in line else anew if is_a_night else once)
        code, console = self.testbed.run("\n".join([*job, *after]), {name: experiment, f"bin/{program}": SORT})
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
        return out

    def test_the_readmes_own_experiment(self):
        readme = (ROOT / "README.md").read_text()
        own = readme[readme.index("## An experiment of your own"):readme.index("## Install, for all users")]
        experiment = blocks(ROOT / "README.md", "yaml")[0]
        self.assertTrue(experiment.startswith("# sort.yaml\n"))
        out = self.walk(own, experiment, "sort.yaml", "sort")
        self.assertIn("the least energy at cpu.frequency", (out / "sort.html").read_text())

    def test_the_tutorial(self):
        page = ROOT / "docs/tutorial.md"
        out = self.walk(page.read_text(), blocks(page, "yaml")[0], "pack.yaml", "pack",
                        ["sed -i 's/1.8 GHz, 3 GHz/1.8 GHz, 2.2 GHz, 2.6 GHz, 3 GHz/' pack.yaml && dvfs-plan pack.yaml >grown.txt 2>&1"])
        self.assertEqual(testbed.rows(out / "pack.sqlite", "select count(*) n from points where counted >= 3")[0]["n"], 5)

    def test_each_verdict_is_explained(self):
        source = (ROOT / "results/trial/trial_record.hpp").read_text()
        words = re.findall(r"^  (\w+),", source[source.index("enum class Verdict {"):source.index("std::string_view to_string(Verdict")], re.M)
        self.assertGreater(len(words), 25)
        table = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/troubleshooting.md").read_text(), re.M)
        self.assertEqual(sorted(re.findall(r"`(\w+)`", " ".join(table))), sorted(set(words) - {"ok"}))

    def test_each_part_of_an_experiment_is_understood(self):
        files, expected = {}, {}
        for page in PAGES:
            for number, text in enumerate(blocks(page, "yaml")):
                keys = yaml.safe_load(text)
                whole = text + "\n".join(line for key, line in REST.items() if key not in keys) + "\n"
                name = f"{page.stem}-{number}.yaml".lower()
                files[name] = whole
                # Neither Slurm nor RAPL is in the virtual machine.
                expected[name] = "(?i)sbatch|sinfo" if "machines" in keys else "probe 'rapl': no RAPL zones" if "rapl" in keys.get("probes", []) else ""
        self.assertGreaterEqual(len(files), 6)
        job = ["cp /*.yaml . ; for p in %s; do printf '#!/bin/sh\\n' >$p; chmod +x $p; done; : >big.txt" % " ".join(PROGRAMS)]
        for name in files:
            job.append(f"dvfs-plan check {shlex.quote(name)} >{name}.out.txt 2>{name}.err.txt; echo $? >{name}.code.txt")
        code, console = self.testbed.run("\n".join(job), {**files, "bin/sort": SORT, "bin/pack": SORT, "bin/site-cap": SITE_CAP})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()
        for name, needs in expected.items():
            with self.subTest(name):
                said = (out / f"{name}.out.txt").read_text() + (out / f"{name}.err.txt").read_text()
                code = int((out / f"{name}.code.txt").read_text())
                if needs:
                    self.assertEqual(code, 3, said)
                    self.assertRegex(said, needs, name)
                else:
                    self.assertEqual(code, 0, said)


if __name__ == "__main__":
    testbed.main()
