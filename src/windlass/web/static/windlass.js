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
// Who has marked text, or writes, chooses or ticks something, is not disturbed.
function isChanged(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
  return field.selectedIndex !== Math.max(0, [...field.options].findIndex((one) => one.defaultSelected));
}

function isBusy() {
  const marked = document.getSelection();
  const fields = [...document.querySelectorAll("#main :is(input:not([type=hidden]), select, textarea)")];
  return fields.some((one) => one === document.activeElement || isChanged(one)) || (marked && !marked.isCollapsed);
}

// What was held back comes when they are done; a moment later, because a click on something may have ended it.
const patience = 1000;
let released = 0;

function showHeld(isHeld) {
  const words = document.getElementById("held");
  if (words) words.hidden = !isHeld;
}

function release() {
  const words = document.getElementById("held");
  if (!words || words.hidden) return;
  window.clearTimeout(released);
  released = window.setTimeout(() => { if (!isBusy()) htmx.trigger("#main", "sse:news"); }, patience);
}
for (const kind of ["change", "input", "focusout", "selectionchange"]) document.addEventListener(kind, release);

// What has the focus has it again in the new page; htmx sees to what has an id.
let left = null;

function tell(element) {
  const words = ["href", "name", "value", "aria-label", "aria-labelledby"].map((name) => element.getAttribute(name));
  return [element.tagName, ...words, element.matches("a, button, summary") ? element.textContent : ""].join("\n");
}

function findAlike(told) {
  const all = document.querySelectorAll("#main :is(a, button, summary, [tabindex])");
  return [...all].filter((one) => tell(one) === told);
}

function leaveFocus() {
  const at = document.activeElement;
  if (!at || at.id || !at.matches("#main *")) return null;
  const told = tell(at);
  return {told, number: findAlike(told).indexOf(at)};
}

function restoreFocus() {
  if (!left) return;
  const alike = findAlike(left.told);
  const at = alike[left.number] || alike.pop() || document.getElementById("main");
  at.focus({preventScroll: true});
}

// The end of a log that grows is what one wants to see. Who has gone back in it stays at the same line.
let place = null;

function findGrowing() {
  return document.querySelector("ol.log[data-end]");
}

function leavePlace() {
  const log = findGrowing();
  if (!log || log.scrollHeight - log.scrollTop - log.clientHeight < 24) return null;
  const top = log.getBoundingClientRect().top;
  const line = [...log.children].find((one) => one.getBoundingClientRect().bottom > top);
  return line ? {id: line.id, below: line.getBoundingClientRect().top - top} : null;
}

function showPlace() {
  const log = findGrowing();
  if (!log) return;
  log.classList.add("tail");
  if (!place) { log.scrollTop = log.scrollHeight; return; }
  const line = document.getElementById(place.id);
  log.scrollTop = line ? line.getBoundingClientRect().top - log.getBoundingClientRect().top - place.below : 0;
}

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id !== "main") return;
  const isHeld = isBusy();
  showHeld(isHeld);
  if (isHeld) event.detail.shouldSwap = false;
  left = leaveFocus();
  place = leavePlace();
});
document.addEventListener("htmx:afterSwap", (event) => {
  renewAges();
  if (event.detail.target.id !== "main") return;
  showPlace();
  restoreFocus();
});

window.setInterval(renewAges, 1000);
renewAges();
showPlace();
