"""Farms: many tasks in a few jobs. Pilots take ranges of tasks from the shared file system, run and record them.

`ledger` (who has which tasks) stands on `entries` (numbered files, each made once) and `ranges`; `member` is a worker's
life in it: claims, heartbeats (`roll`), the dead (`sealing`); `naming` tells workers apart. `table` holds the tasks,
`records` what became of each, `outputs` what they printed; `books` are all files of one worker. `pilot` runs tasks:
`clerk` brings them, `node` and `slots` say how many fit, `commands` has a lane for each slot, `spawning` starts and
reaps processes, `stopping` asks them to end, `strays` are what they leave behind, `showing` tells what goes on.

Calls of Python functions: `calling` feeds them to warm workers, `warm` is the pilot's end of one, `callee` its process.
`reports` is what these tell each other, `printed` and `results` what is kept, `functions` how code is loaded, `chunks`
many calls as one; `news` is what the laptop hears of them.
"""
