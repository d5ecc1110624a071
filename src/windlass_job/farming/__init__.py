"""Farms: many tasks in a few jobs. Pilots take ranges of tasks from the shared file system, run and record them.

`ledger` (who has which tasks) stands on `entries` (numbered files, each made once) and `ranges`; `member` is a worker's
life in it: claims, heartbeats (`roll`), the dead (`sealing`); `naming` tells workers apart. `table` holds the tasks,
`records` what became of each, `outputs` what they printed. `pilot` runs them: `clerk` brings tasks, `node` and `slots`
say how many fit, `spawning` starts and reaps them, `strays` are what they leave behind.

Calls of Python functions: `calling` feeds them to warm workers, `warm` is the pilot's end of one, `callee` its process.
`reports` is what these tell each other, `printed` and `results` what is kept, `functions` how code is loaded, `chunks`
many calls as one; `news` is what the laptop hears of them.
"""
