// The labelling page. Whatever comes from data enters by textContent or as an attribute: never as markup.
"use strict";

const token = new URLSearchParams(location.search).get("token");
const SETTLE = 350;   // milliseconds after a question appears: the second half of a double click answers nothing
const POLL = 1000;    // between two looks at what another tab, or the program, has done
const HURRY = 200;    // while the machine learns

const $ = (id) => document.getElementById(id);
let state = null;      // what the server last told
let correcting = null; // {index, label, sample} of an old answer on show
let sending = false;
let shownAt = 0;
let lost = false;      // the server did not answer
let over = false;      // finished, or the page belongs to another time

// --- elements ---------------------------------------------------------------------------------------------

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

const short = (n) => n.toLocaleString("en", { notation: n < 10000 ? "standard" : "compact" });  // beside an axis

// --- samples ----------------------------------------------------------------------------------------------

const PICTURES = {
  text: (s) => [make("p", { class: "text" }, s.text), ...more(s, "characters")],
  failed: (s) => [make("p", { class: "text" }, `This sample cannot be shown. ${s.text}`)],
  sequence: (s) => {
    const blocks = make("div", { class: "letters" });
    for (let i = 0; i < s.letters.length; i += 10) {
      const place = make("small", { "aria-hidden": "true" }, String(i + 1));
      blocks.append(make("span", {}, place, s.letters.slice(i, i + 10)));
    }
    return [blocks, ...more(s, "letters")];
  },
  symbols: (s) => {
    const words = s.symbols.map((symbol) => make("span", {}, symbol));
    return [make("div", { class: "symbols" }, ...words), ...more(s, "symbols")];
  },
  table: (s) => {
    const cells = s.rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
    const kind = s.rows.length > 14 ? "cells" : "cells few";  // few are read from top to bottom
    return [make("dl", { class: kind }, ...cells), ...more(s, "columns")];
  },
  image: (s) => {
    const image = make("img", { src: `data:image/png;base64,${s.png}`, alt: `Image of ${s.width} by ${s.height} pixels` });
    if (Math.max(s.width, s.height) < 200) {
      image.className = "pixels";
      image.style.maxWidth = `${24 * s.width}px`;  // what a few pixels show is seen from afar
    }
    return [image];
  },
  svg: (s) => [make("img", { src: `data:image/svg+xml;base64,${s.data}`, alt: "Drawing" })],
  series: (s) => [seriesDrawing(s)],
  graph: (s) => [graphDrawing(s)],
  tree: (s) => [treeDrawing(s)],
};

function pictureOf(s) {
  const content = s.text ?? s.letters ?? s.symbols ?? s.rows ?? s.length ?? s.kind;
  const empty = content === 0 || content.length === 0;
  return empty ? [make("p", { class: "small" }, "This sample is empty.")] : PICTURES[s.kind](s);
}

function more(s, things) {
  return s.more ? [make("p", { class: "small more" }, `and ${s.more.toLocaleString("en")} more ${things}`)] : [];
}

function frame(places, margin) {
  const xs = places.map((p) => p[0]), ys = places.map((p) => p[1]);
  const [left, top] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
  // A small drawing is not blown up to the size of the page.
  const width = Math.max(Math.max(...xs) - left + margin, 6), height = Math.max(Math.max(...ys) - top + margin, 4);
  const [dx, dy] = [(width - (Math.max(...xs) - left + margin)) / 2, (height - (Math.max(...ys) - top + margin)) / 2];
  return `${left - dx} ${top - dy} ${width} ${height}`;
}

function graphDrawing(s) {
  if (!s.labels.length) return make("p", { class: "text" }, "A graph without nodes.");
  const R = 0.27;
  // Short labels are written on their nodes, others below them.
  const longest = Math.max(...s.labels.map((label) => label.length)), below = longest > 4;
  const picture = draw("svg", {
    viewBox: frame(s.places, below ? 0.9 : 0.6), role: "img",
    "aria-label": `Graph of ${count(s.labels.length, "node", "nodes")} and ${count(s.edges.length, "edge", "edges")}`,
  });
  const kinds = [...new Set(s.labels)];
  s.edges.forEach(([a, b], e) => {
    const [p, q] = [s.places[a], s.places[b]];
    if (a === b) {
      picture.append(draw("circle", { class: "edge", "stroke-width": 0.05, cx: p[0], cy: p[1] - R, r: R * 0.9 }));
    } else {
      picture.append(draw("line", { class: "edge", "stroke-width": 0.05, x1: p[0], y1: p[1], x2: q[0], y2: q[1] }));
    }
    if (s.directed && a !== b) {
      const length = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1;
      const [ux, uy] = [(q[0] - p[0]) / length, (q[1] - p[1]) / length];
      const [tx, ty] = [q[0] - ux * R, q[1] - uy * R];
      const corner = (side) => `${tx - 0.22 * ux + side * 0.1 * uy},${ty - 0.22 * uy - side * 0.1 * ux}`;
      picture.append(draw("polygon", { class: "arrow", points: `${tx},${ty} ${corner(1)} ${corner(-1)}` }));
    }
    if (s.edge_labels.length) {
      const [x, y] = a === b ? [p[0], p[1] - 2 * R] : [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
      const label = draw("text", { class: "edge-label", x, y, "stroke-width": 0.12 }, s.edge_labels[e]);
      label.style.fontSize = "0.24px";
      picture.append(label);
    }
  });
  s.labels.forEach((label, i) => {
    const [x, y] = s.places[i];
    const name = label.length > 12 ? `${label.slice(0, 11)}…` : label;
    const text = draw("text", below ? { class: "name", x, y: y + R + 0.16, "stroke-width": 0.08 } : { x, y }, name);
    text.style.fontSize = `${below ? 0.2 : [0, 0.3, 0.27, 0.2, 0.16][name.length]}px`;
    // As many colours as the page has; where labels are all different, colours would say nothing.
    const colour = kinds.length === s.labels.length && kinds.length > 8 ? 0 : kinds.indexOf(label) % 8;
    const circle = draw("circle", { class: `c${colour}`, cx: x, cy: y, r: R, "stroke-width": 0.05 });
    picture.append(draw("g", { class: "node" }, draw("title", {}, label), circle, text));
  });
  return picture;
}

function treeDrawing(s) {
  const widths = s.labels.map((label) => 0.2 * label.length + 0.12);
  const ends = s.places.flatMap(([x, y], i) => [[x - widths[i] / 2, y], [x + widths[i] / 2, y]]);
  const box = frame(ends, 0.4), [, , width, height] = box.split(" ");
  const picture = draw("svg", { viewBox: box, role: "img", "aria-label": `Tree: ${s.labels.join(" ")}` });
  // Words stay large enough to be read: a large tree is moved about.
  Object.assign(picture.style, { minWidth: `${36 * width}px`, minHeight: `${36 * height}px` });
  for (const [a, b] of s.edges) {
    const [p, q] = [s.places[a], s.places[b]];
    picture.append(draw("line", { class: "edge", "stroke-width": 0.03, x1: p[0], y1: p[1], x2: q[0], y2: q[1] }));
  }
  s.labels.forEach((label, i) => {
    const [x, y] = s.places[i], width = widths[i];
    const text = draw("text", { x, y }, label);
    text.style.fontSize = "0.28px";
    const ground = draw("rect", { x: x - width / 2, y: y - 0.2, width, height: 0.4 });
    picture.append(draw("g", { class: "word" }, ground, text));
  });
  return picture;
}

function seriesDrawing(s) {
  const [least, most] = [Math.min(...s.lines.map((line) => Math.min(...line))), Math.max(...s.lines.map((line) => Math.max(...line)))];
  const chart = new Chart([0, Math.max(1, s.length - 1)], [least, most], `Series of ${count(s.length, "point", "points")}`, 640, 320);
  for (const y of new Set([least, most])) chart.yTick(y, String(Number(y.toPrecision(3))));
  for (const x of new Set([0, s.length - 1])) chart.xTick(x, x.toLocaleString("en"));
  s.lines.forEach((line, k) => {
    const step = (s.length - 1) / Math.max(1, line.length - 1);
    const curve = chart.line(line.map((y, i) => [i * step, y]));
    curve.style.stroke = `var(--n${k % 8})`;
  });
  return chart.svg;
}

// --- charts -----------------------------------------------------------------------------------------------

class Chart {
  constructor(x, y, label, width = 300, height = 124) {
    Object.assign(this, { x, y: y[0] === y[1] ? [y[0] - 0.5, y[1] + 0.5] : y, width, height });
    this.svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    this.svg.append(draw("path", { class: "axis", d: `M${this.left} ${this.top}V${this.bottom}H${width - 6}` }));
  }
  left = 34;
  top = 14;
  get bottom() { return this.height - 18; }
  px(x) { return this.left + (x - this.x[0]) / (this.x[1] - this.x[0]) * (this.width - 8 - this.left); }
  py(y) { return this.bottom - (y - this.y[0]) / (this.y[1] - this.y[0]) * (this.bottom - this.top); }
  line(points) {
    const curve = draw("polyline", { class: "curve", points: points.map(([x, y]) => `${this.px(x)},${this.py(y)}`).join(" ") });
    this.svg.append(curve);
    return curve;
  }
  xTick(x, text) {
    const anchor = this.px(x) > this.width - 20 ? "end" : "middle";
    this.svg.append(draw("text", { x: this.px(x), y: this.height - 5, "text-anchor": anchor }, text));
  }
  yTick(y, text) {
    this.svg.append(draw("text", { x: this.left - 5, y: this.py(y) + 3, "text-anchor": "end" }, text));
  }
}

function showCurve(place, answers, values, top, format, label) {
  const points = answers.map((n, i) => [n, values[i]]).filter(([, value]) => value !== null);
  if (points.length < 2) {
    place.replaceChildren(make("p", {}, "After some answers of two classes."));
    return;
  }
  const last = points[points.length - 1];
  const chart = new Chart([0, last[0]], [0, top || 1], `${label}: ${format(last[1])} after ${last[0]} answers`);
  chart.line(points);
  chart.svg.append(draw("circle", { class: "dot", r: 3, cx: chart.px(last[0]), cy: chart.py(last[1]) }));
  chart.yTick(0, format(0));
  chart.yTick(top || 1, format(top || 1));
  chart.xTick(0, "0");
  chart.xTick(last[0], count(last[0], "answer", "answers"));
  place.replaceChildren(chart.svg);
}

function showHistogram(place, h, value) {
  $("values-title").textContent = h && h.sides
    ? `Decision values: ← ${h.sides[0]}, ${h.sides[1]} →` : h ? "Distances from the nearest boundary" : "Decision values of the pool";
  if (!h) {
    place.replaceChildren(make("p", {}, "After answers of two classes."));
    return;
  }
  const top = Math.max(...h.counts, 1), edges = h.edges;
  const ends = [edges[0], edges[edges.length - 1]];
  const label = `Histogram of decision values; ${count(h.inside, "unlabelled sample", "unlabelled samples")} within the margin band`;
  const chart = new Chart(ends, [0, top], label);
  const [from, to] = h.band.map((b) => chart.px(Math.min(Math.max(b, ends[0]), ends[1])));
  chart.svg.append(draw("rect", { class: "shade", x: from, y: chart.top, width: to - from, height: chart.bottom - chart.top }));
  h.counts.forEach((n, i) => {
    if (!n) return;
    const [x, y] = [chart.px(edges[i]), Math.min(chart.py(n), chart.bottom - 1)];
    chart.svg.append(draw("rect", { class: "bar", x: x + 0.4, y, width: chart.px(edges[i + 1]) - x - 0.8, height: chart.bottom - y }));
  });
  if (value !== null) {
    const x = chart.px(Math.min(Math.max(value, ends[0]), ends[1]));
    chart.svg.append(draw("line", { class: "mark", x1: x, x2: x, y1: chart.top - 8, y2: chart.bottom }));
    const anchor = x > chart.width - 70 ? "end" : "start";
    chart.svg.append(draw("text", { class: "mark-text", x: x + (anchor === "end" ? -5 : 5), y: chart.top - 4, "text-anchor": anchor }, "this one"));
  }
  chart.yTick(top, short(top));
  const apart = chart.px(1) - chart.px(0) > 24;  // else the edges of the band are too close to be told apart
  for (const [x, text] of h.ticks) if (apart || x === 0) chart.xTick(x, text);
  if (!apart) chart.xTick(ends[1], short(Number(ends[1].toPrecision(2))));
  place.replaceChildren(chart.svg);
}

// --- the page ---------------------------------------------------------------------------------------------

function tell(text, strong = false) {
  $("notice").textContent = text;
  $("notice").classList.toggle("strong", strong);
}

function setBusy() {
  const learning = sending || (state && state.status === "learning");
  $("work").classList.toggle("learning", Boolean(learning));
  $("work").setAttribute("aria-busy", learning ? "true" : "false");
  const closed = over || learning || !state;
  const idle = !correcting && state && state.status !== "asking";
  for (const button of $("answers").children) button.setAttribute("aria-disabled", closed || idle ? "true" : "false");
  $("skip").setAttribute("aria-disabled", closed || idle || correcting ? "true" : "false");
  $("back").setAttribute("aria-disabled", closed || !state.recent.length ? "true" : "false");
  $("finish").setAttribute("aria-disabled", over || sending ? "true" : "false");
  for (const button of $("recent-list").querySelectorAll("button")) button.setAttribute("aria-disabled", closed ? "true" : "false");
}

function show(next, notice = "", strong = false) {
  const before = state;
  const changed = !before || before.question !== next.question;
  state = next;
  if (changed) correcting = null;
  $("progress").textContent =
    `${count(state.answers, "answer", "answers")}${state.skipped ? `, ${state.skipped.toLocaleString("en")} skipped` : ""}, ` +
    `${count(state.pool - state.answers - state.skipped, "sample", "samples")} left` +
    (state.waiting > 1 ? `; ${state.waiting.toLocaleString("en")} until it learns` : "");
  $("advice").hidden = !state.advice || state.status === "finished";
  $("advice").textContent = state.advice ? `You may stop. ${state.advice} Or go on as you like.` : "";
  $("kept").hidden = state.kept;
  $("kept").textContent = "Answers are kept in the memory of the program: a learner with a path keeps them in a file.";
  if (changed || state.status !== "learning") {
    showQuestion(changed);
    showCharts();
    showRecent();
  }
  if (state.status === "learning") tell("Learning …");
  else tell([notice, state.message].filter(Boolean).join(" "), strong || Boolean(state.message));
  setBusy();
}

function showQuestion(changed) {
  const sample = correcting ? correcting.sample : state.sample;
  const asked = !correcting && state.status === "asking";
  $("work").classList.toggle("correcting", Boolean(correcting));
  $("question").textContent = correcting
    ? `Sample ${correcting.index} ${correcting.label === null ? "was skipped" : `was “${state.classes[correcting.label]}”`}. What is it?`
    : { finished: "Nothing is left to ask. Press Finish, or correct an answer.", failed: "There is no next question. Correct an answer to go on." }[state.status]
      || `What is sample ${state.index}?`;
  if (changed || correcting !== showQuestion.shown) {
    const drawn = sample && (correcting || asked || state.status === "learning") ? pictureOf(sample) : [];
    $("sample").replaceChildren(...drawn);
    $("sample").scrollTop = 0;
    $("sample").scrollLeft = ($("sample").scrollWidth - $("sample").clientWidth) / 2;  // near the root of a wide tree
    shownAt = performance.now();
    showQuestion.shown = correcting;
  }
  $("sample").hidden = !$("sample").children.length;
  showAnswers();
  $("answers").hidden = !correcting && !asked && state.status !== "learning";
  $("skip").hidden = Boolean(correcting) || $("answers").hidden;
  $("back").hidden = Boolean(correcting);
  $("keep").hidden = !correcting;
}

function showAnswers() {
  const place = $("answers");
  $("work").classList.toggle("many", state.classes.length > 6);
  if (place.children.length !== state.classes.length) {
    place.replaceChildren(...state.classes.map((name, label) => {
      const keys = state.keys[label].filter((key) => key !== name).map((key) => make("kbd", {}, key));
      const button = make("button", { type: "button", "aria-keyshortcuts": state.keys[label].join(" ") }, name, " ", ...keys);
      button.addEventListener("click", () => answer(label));
      return button;
    }));
  }
  [...place.children].forEach((button, label) => button.classList.toggle("given", Boolean(correcting) && correcting.label === label));
}

function showCharts() {
  const c = state.curve;
  $("agreement-title").textContent = `Foreseen of the last ${state.window} answers`;
  showCurve($("agreement"), c.answers, c.agreement, 1, (v) => `${Math.round(100 * v)}%`, "Foreseen of the last answers");
  const widest = Math.max(0, ...c.band.filter((v) => v !== null));
  showCurve($("band"), c.answers, c.band, widest, short, "Samples within the margin band");
  showHistogram($("values"), state.histogram, state.value);
}

function showRecent() {
  $("recent").hidden = !state.recent.length;
  $("recent-list").replaceChildren(...state.recent.map((old) => {
    const name = `${old.index}: ${old.label === null ? "cannot tell" : state.classes[old.label]}`;
    const button = make("button", { type: "button", class: "quiet", "aria-label": `Correct sample ${name}` }, name);
    button.addEventListener("click", () => correct(old));
    return make("li", {}, button);
  }));
}

// --- what people do ---------------------------------------------------------------------------------------

function ready() {
  return state && !sending && !over && state.status !== "learning" && performance.now() - shownAt > SETTLE;
}

function answer(label) {
  if (!ready()) return;
  if (correcting) {
    if (label === correcting.label) keep();
    else act(["correct", correcting.index, label], `Sample ${correcting.index} is now “${state.classes[label]}”.`);
  } else if (state.status === "asking") {
    act(["answer", label]);
  }
}

function skip() {
  if (ready() && !correcting && state.status === "asking") act(["skip"]);
}

async function correct(old) {
  if (!ready() || !old) return;
  sending = true;  // a key that is pressed before the old sample is on show was not meant for the one that is
  setBusy();
  try {
    const response = await request(`sample?index=${old.index}`);
    const sample = await response.json();
    if (!response.ok) throw new Error(sample.error);
    correcting = { ...old, sample };
    tell("");
  } catch (failure) {
    if (!lost && !over) tell(failure.message, true);
  } finally {
    sending = false;
    setBusy();
  }
  if (!correcting) return;
  showQuestion(false);
  setBusy();
  $("question").focus();
}

function keep() {
  if (!correcting || sending) return;
  correcting = null;
  showQuestion(false);
  setBusy();
}

async function finish() {
  if (over || sending) return;
  sending = true;
  try {
    await request("finish", {});
    end(`Finished. All answers are ${state && state.kept ? "saved" : "with the program"}; you may close this tab.`);
  } catch { /* told already */ } finally {
    sending = false;
    setBusy();
  }
}

function end(text) {
  over = true;
  setBusy();
  tell(text, true);
}

// --- the server -------------------------------------------------------------------------------------------

async function request(path, content) {
  const options = { headers: { "X-Token": token }, cache: "no-store" };
  if (content !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(content);
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (failure) {
    lost = true;
    if (!over) tell("The program does not answer. If it was closed, call serve() again: no answer is lost.", true);
    throw failure;
  }
  if (response.status === 403) {
    end("This page belongs to a program that was closed. Open the address that serve() gives now: no answer is lost.");
    throw new Error("wrong token");
  }
  lost = false;
  return response;
}

async function act(action, notice = "") {
  sending = true;
  tell("Learning …");
  setBusy();
  try {
    const response = await request("act", { question: state.question, action });
    const content = await response.json();
    sending = false;
    if (response.ok) show(content, notice);
    else if (response.status === 409) show(content, "This was answered meanwhile, your answer was not taken. Here is the question now.", true);
    else if (content.state) show(content.state, `The answer was not saved: ${content.error}`, true);
    else tell(content.error, true);
  } catch { /* told already */ } finally {
    sending = false;
    setBusy();
  }
}

async function look() {
  if (over || sending || document.visibilityState !== "visible") return;
  const wasLost = lost;
  try {
    const response = await request(state ? `state?after=${state.version}` : "state");
    const content = await response.json();
    if (sending || !response.ok) return;
    if (wasLost && state) tell(state.message, true);
    if (content.question === undefined || (state && content.version <= state.version)) return;  // nothing new
    const elsewhere = state && state.question !== content.question && state.status !== "failed";
    show(content, elsewhere ? "Answered elsewhere. Here is the question now." : "");
  } catch { /* told already */ }
}

async function keepLooking() {
  await look();
  if (!over) setTimeout(keepLooking, state && state.status === "learning" ? HURRY : POLL);
}

document.addEventListener("keydown", (event) => {
  // A key that is held down is one answer.
  if (event.repeat && !event.key.startsWith("Arrow") && !event.key.startsWith("Page") && event.key !== "Tab") {
    event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !state) return;
  const label = state.keys.findIndex((keys) => keys.includes(event.key.toLowerCase()));
  if (label >= 0) answer(label);
  else if (event.key === "?") skip();
  else if (event.key === "Backspace") correct(state.recent[0]);
  else if (event.key === "Escape") keep();
  else return;
  event.preventDefault();
});
$("skip").addEventListener("click", skip);
$("back").addEventListener("click", () => state && correct(state.recent[0]));
$("keep").addEventListener("click", keep);
$("finish").addEventListener("click", finish);
document.addEventListener("visibilitychange", look);
keepLooking();
