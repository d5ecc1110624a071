// Axes of charts: what they reach over, where their ticks are, and what is written there.
"use strict";

const axes = (() => {
  // Whole seconds at least: a clock shows no less.
  const timeSteps = [[1, [1, 2, 5, 10, 15, 30]], [60, [1, 2, 5, 10, 15, 30]], [3600, [1, 2, 3, 6, 12]], [86400, [1, 2, 4, 7, 14, 30, 90, 365, 3650]]]
    .flatMap(([size, steps]) => steps.map((one) => one * size));

  // As in core/drawing/scales.py: one value alone gets room on both sides; nothing alone lies on the ground.
  function findHeight(min, max) {
    if (min == null || max > min) return min == null ? [null, null] : uPlot.rangeNum(min, max, 0.1, true);
    return min === 0 ? [0, 1] : [min - Math.abs(min) / 2, min + Math.abs(min) / 2];
  }

  // The day stands below the first time of it.
  function tellClocks(_, ticks, __, ___, step) {
    let before = "";
    return ticks.map((tick) => {
      const moment = new Date(tick * 1000), day = moment.toLocaleDateString([], { day: "numeric", month: "short" });
      const clock = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: step < 60 ? "2-digit" : undefined, hourCycle: "h23" });
      const words = step >= 86400 ? day : day === before ? clock : `${clock}\n${day}`;
      before = day;
      return words;
    });
  }

  function tellTicks(_, ticks) {
    return ticks.map((tick) => tick == null ? "" : tellTick(tick));
  }

  function tellTick(value) {
    const size = [1e9, 1e6, 1e3].find((one) => Math.abs(value) >= 10 * one);
    return size ? `${Number((value / size).toPrecision(4))}${{ 1e9: "G", 1e6: "M", 1e3: "k" }[size]}` : String(Number(value.toPrecision(6)));
  }

  return { timeSteps, findHeight, tellClocks, tellTicks };
})();
