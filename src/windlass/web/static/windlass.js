// What the pages do by themselves while they are open. All of them can be read without it.
"use strict";

const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

// One unit is enough for an age.
function tellSpan(seconds) {
  const [size, name] = units.find(([size]) => seconds >= size) || [1, "s"];
  return `${Math.floor(seconds / size)} ${name}`;
}

// Ages go on while nothing new comes.
function renewAges() {
  for (const shown of document.querySelectorAll("time[data-age]")) {
    const seconds = Math.round((Date.now() - Date.parse(shown.dateTime)) / 1000);
    const words = seconds >= 0 ? `${tellSpan(seconds)} ago` : `in ${tellSpan(-seconds)}`;
    if (shown.textContent !== words) shown.textContent = words;
  }
}

function showLost(isLost) {
  const banner = document.getElementById("lost");
  if (banner) banner.hidden = !isLost;
}

document.addEventListener("htmx:sseError", () => showLost(true));
document.addEventListener("htmx:sendError", () => showLost(true));
document.addEventListener("htmx:sseOpen", () => showLost(false));
// Who reads a part of a log, has marked text or writes a note is not disturbed.
document.addEventListener("htmx:beforeSwap", (event) => {
  const marked = document.getSelection();
  const isWriting = [...document.querySelectorAll("#main textarea")].some((field) => field.value !== "");
  if (event.detail.target.id !== "main") return;
  if (isWriting || (marked && !marked.isCollapsed)) event.detail.shouldSwap = false;
});
document.addEventListener("htmx:afterSwap", () => { renewAges(); showEnd(); });

// The end of a log is what one wants to see.
function showEnd() {
  for (const log of document.querySelectorAll("ol.log[data-end]")) log.scrollTop = log.scrollHeight;
}

window.setInterval(renewAges, 1000);
renewAges();
showEnd();
