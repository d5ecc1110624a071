// The line and the row of a trial are marked together, whichever of them somebody is at. Links lead from one to the
// other without it.
"use strict";

function mark(at, isMarked) {
  const one = at.closest("a.strand, tr[id^='trial-']");
  if (!one) return;
  const number = one.id.split("-")[1];
  for (const id of [`trial-${number}`, `strand-${number}`]) {
    const part = document.getElementById(id);
    if (part) part.classList.toggle("marked", isMarked);
  }
}

for (const [begin, end] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
  document.addEventListener(begin, (event) => mark(event.target, true));
  document.addEventListener(end, (event) => mark(event.target, false));
}
