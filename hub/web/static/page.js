// Keeps the page current: the hub sends each part anew when it has changed, and this brings what is
// shown in line with it, node by node, so that focus, selection, scrolling and opened rows stay.
"use strict";

const board = document.getElementById("board");
const asof = document.getElementById("asof");
const pause = document.getElementById("pause");
const SILENT_MS = 20000;
const RETRY_MS = 4000;
let stream = null;
let ahead = 0; // the hub's clock minus this one, ms
let heard = Date.now();
let paused = false;

function renew(shown, wanted) {
  if (shown.nodeType !== wanted.nodeType || shown.nodeName !== wanted.nodeName || shown.id !== wanted.id) {
    shown.replaceWith(wanted);
    return;
  }
  if (shown.nodeType !== Node.ELEMENT_NODE) {
    if (shown.data !== wanted.data) shown.data = wanted.data;
    return;
  }
  if (shown.dataset.flash !== undefined && shown.dataset.flash !== wanted.dataset.flash) flash(shown);
  const opened = (name) => name === "open" && shown.nodeName === "DETAILS"; // or closed, by the reader
  for (const { name } of [...shown.attributes]) {
    if (!opened(name) && name !== "data-new" && !wanted.hasAttribute(name)) shown.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (!opened(name) && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
  renewChildren(shown, wanted);
}

function renewChildren(shown, wanted) {
  const known = new Map([...shown.children].filter((each) => each.id).map((each) => [each.id, each]));
  let at = shown.firstChild;
  for (const next of [...wanted.childNodes]) {
    const same = next.id ? known.get(next.id) : undefined;
    if (same && same !== at) {
      shown.insertBefore(same, at);
      at = same;
    }
    if (!at || (next.id && !same)) {
      shown.insertBefore(next, at);
      continue;
    }
    const after = at.nextSibling;
    renew(at, next);
    at = after;
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}

function flash(cell) {
  cell.removeAttribute("data-new");
  void cell.offsetWidth; // starts the animation anew
  cell.setAttribute("data-new", "");
}

function tick() {
  const now = Date.now() + ahead;
  for (const each of document.querySelectorAll("time[datetime]:not(.clock)")) {
    const text = age(now - Date.parse(each.dateTime)) + (each.dataset.after ?? "");
    if (each.firstChild.data !== text) each.firstChild.data = text;
  }
  const silent = Date.now() - heard;
  if (!paused && !document.hidden && silent > SILENT_MS) {
    asof.className = "stale";
    asof.textContent = `no news from the hub for ${age(silent)}`;
  }
}

function age(milliseconds) {
  const left = Math.max(0, Math.floor(milliseconds / 1000));
  if (left >= 86400) return `${Math.floor(left / 86400)}d`;
  if (left >= 3600) return `${Math.floor(left / 3600)}h`;
  return left >= 60 ? `${Math.floor(left / 60)}m` : `${left}s`;
}

function show(event) {
  const { at, parts } = JSON.parse(event.data);
  heard = Date.now();
  ahead = Date.parse(at) - heard;
  for (const [name, html] of Object.entries(parts)) {
    const part = name === "title" ? null : document.getElementById(`part-${name}`);
    const wanted = (part ?? document.createElement("div")).cloneNode(false);
    wanted.innerHTML = html; // rendered and escaped by the hub
    if (part) renewChildren(part, wanted);
    else if (name === "title") document.title = wanted.textContent;
  }
  asof.className = "live";
  asof.textContent = `live, as of ${at.slice(11, 19)} UTC`;
  tick();
  document.dispatchEvent(new Event("roadstead:news"));
}

function follow() {
  if (stream || paused || document.hidden) return;
  heard = Date.now();
  stream = new EventSource(board.dataset.stream);
  stream.onmessage = show;
  stream.addEventListener("ended", () => window.location.reload());
  stream.onerror = async () => {
    if (stream && stream.readyState !== EventSource.CLOSED) return; // it tries again by itself
    leave();
    const look = new AbortController();
    const reply = await fetch(board.dataset.stream, { signal: look.signal }).catch(() => null);
    look.abort();
    if (reply?.status === 401) window.location.reload(); // to the way in
    else setTimeout(follow, RETRY_MS);
  };
}

function leave() {
  stream?.close();
  stream = null;
}

pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", String(paused));
  pause.textContent = paused ? "Resume" : "Pause";
  if (!paused) return follow();
  leave();
  asof.className = "";
  asof.textContent = asof.textContent.replace("live, as of", "paused, as of");
});
// A page that nobody sees costs nothing.
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
window.addEventListener("pagehide", leave);
pause.hidden = false;
setInterval(tick, 1000);
follow();
