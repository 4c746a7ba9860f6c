"""The reader of pages itself: what it takes for a block, what it complains of, what it runs."""

import os
import subprocess
import tempfile
import unittest

import guide_page

PAGE = """# A page

1. a list

       that goes on

```sh
name=world
```

```text file.txt
```

```c file=hello.c
int main(void) { return 0; }
```

```sh
test -e hello.c && echo "hello $name, it is $$"
```

```text output
hello world, it is ...
```

```sh needs=a-tool
echo left out
```
"""


class GuidePage(unittest.TestCase):
    def problems(self, text):
        return guide_page.blocks(text)[1]

    def run_blocks(self, blocks, without=()):
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out")
            os.mkdir(out)
            code = subprocess.run(["bash", "-c", guide_page.script(blocks, out, without)],
                                  cwd=directory, check=False).returncode
            printed = {}
            for name in os.listdir(out):
                with open(os.path.join(out, name), encoding="utf-8") as file:
                    printed[name] = file.read()
            return code, printed

    def test_blocks_and_their_problems(self):
        blocks, problems = guide_page.blocks(PAGE)
        self.assertEqual([b.language for b in blocks], ["sh", "text", "c", "sh", "text", "sh"])
        self.assertEqual([b.line for b in blocks][:2], [7, 11])
        self.assertEqual(problems, [(11, "'file.txt' says nothing to the tests")])
        self.assertEqual(guide_page.tools(blocks), ["a-tool"])

    def test_what_nobody_would_run_is_told(self):
        self.assertEqual(self.problems("text\n\n    ls\n")[0][0], 3)
        self.assertEqual(self.problems("```\nls\n```\n")[0][0], 1)
        self.assertEqual(self.problems("```sh\nls\n")[0], (1, "the fence is not closed"))
        self.assertIn("file=NAME", self.problems("```c\nint x;\n```\n")[0][1])
        self.assertIn("no command", self.problems("```c file=x.c\nint x;\n```\n")[0][1])
        self.assertIn("behind", self.problems("```text output\nx\n```\n")[0][1])
        self.assertEqual(self.problems("```c file=x.c\n```\n```sh\ncc x.c\n```\n"), [])

    def test_runs_in_one_shell_and_in_order(self):
        blocks = guide_page.blocks(PAGE)[0]
        code, printed = self.run_blocks(blocks, ["a-tool"])
        self.assertEqual((code, printed["at"]), (0, "end\n"))
        self.assertTrue(guide_page.matches(blocks[4].text, printed["3"]))
        self.assertNotIn("5", printed)
        self.assertEqual(self.run_blocks(blocks)[1]["5"], "left out\n")

    def test_stops_at_the_first_failure(self):
        for command in ("false", "false | cat", "exit 3"):
            blocks = guide_page.blocks(f"```sh\n:\n```\n```sh\n{command}\n```\n```sh\n:\n```\n")[0]
            code, printed = self.run_blocks(blocks)
            self.assertNotEqual(code, 0, command)
            self.assertEqual(printed["at"], "1\n")

    def test_writes_over_nothing(self):
        page = "```c file=x.c\n```\n```sh\necho x\n```\n```c file=x.c\n```\n"
        blocks = guide_page.blocks(page)[0]
        code, printed = self.run_blocks(blocks)
        self.assertEqual((code, printed["2"]), (1, "x.c is there already\n"))

    def test_output(self):
        self.assertTrue(guide_page.matches("a ... c\n...\nd\n", "a b c\nx\ny\nd  \n"))
        self.assertFalse(guide_page.matches("a\n", "a\nb\n"))
        self.assertFalse(guide_page.matches("a.c\n", "abc\n"))


if __name__ == "__main__":
    unittest.main()
