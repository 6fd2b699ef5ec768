// Logs of a job, as its cluster writes them: asked of the hub while somebody reads them, shown as text.
// Control characters are written out, the oldest lines are dropped, and after a break it goes on where it was.
"use strict";

(() => {
  const MOST = 5000; // lines that are kept
  const BATCH_MS = 100;
  const RETRY_MS = [1000, 2000, 4000, 8000, 15000];
  const LOOK_MS = 500; // between two looks whether the job is in a cluster
  const MOST_AFTER = 12000;
  const AFTER = /^([-a-z0-9.]+\/[-a-z0-9]+=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z(,|$))+$/;
  const MARGIN_S = 10; // asked for once more after a break, and told apart by their times
  const COLOURS = 8;
  // Why an answer that ended may go on later; whatever else ends it is final.
  const PASSING = new Set([
    "CutOff", "Unreachable", "AgentSilent", "HubStopped", "LongestReached", "ClusterSilent", "AgentNotListening",
    "MemberNotAnswering", "NoPodsYet", "NotBegun", "JobWaits", "TooManyStreams", "TooManyRequests",
  ]);
  const $ = (name) => document.getElementById(`logs-${name}`);
  const box = $("lines");
  const texts = new WeakMap(); // what each line says
  const colours = new Map(); // by pod
  let places = new Map(); // by pod and container: the time of the last line, and how many had that time
  let replay = new Map(); // what of them has been read before a break
  let look = null; // the request that is open
  let turn = 0; // of reading; what another has asked for is not taken
  let fresh = []; // lines that are not shown yet
  let dropped = 0;
  let heldBack = false;
  let painting = 0;
  let lastAt = 0; // when the last line came, ms
  let lastTime = ""; // and when it was written
  let hits = [];
  let hit = -1;

  // --- what is shown ---

  const STEERING = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

  function visible(text) {
    return text.replace(STEERING, (each) => {
      const code = each.codePointAt(0);
      if (code === 9) return each;
      if (code < 32 || code === 127) return `^${String.fromCharCode(code ^ 64)}`;
      return `\\u${code.toString(16).padStart(4, "0")}`;
    });
  }

  function line(record) {
    const element = document.createElement("div");
    element.className = record.note === undefined ? "line" : "line note";
    const from = document.createElement("span");
    const pod = record.pod ?? "";
    if (!colours.has(pod)) colours.set(pod, colours.size % COLOURS);
    from.className = `from c${colours.get(pod)}`;
    from.textContent = visible([pod, record.container].filter(Boolean).join(" "));
    const time = document.createElement("span");
    time.className = "at";
    time.textContent = (record.time ?? "").slice(11, 23);
    const says = document.createElement("span");
    says.className = "text";
    texts.set(element, visible(record.line ?? record.note ?? "") + (record.cut ? " … (cut)" : ""));
    element.append(from, " ", time, " ", says);
    paint(element);
    return element;
  }

  function paint(element) {
    const says = element.lastChild;
    const text = texts.get(element);
    const wanted = $("find").value.toLowerCase();
    const low = text.toLowerCase();
    if (!wanted || low.length !== text.length || !low.includes(wanted)) {
      says.textContent = text;
      return false;
    }
    const parts = [];
    let from = 0;
    for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, from)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(at, at + wanted.length);
      parts.push(text.slice(from, at), mark);
      from = at + wanted.length;
    }
    says.replaceChildren(...parts, text.slice(from));
    return true;
  }

  function take(record) {
    fresh.push(record);
    if (fresh.length > MOST) {
      dropped += fresh.length - MOST;
      fresh = fresh.slice(-MOST);
    }
    if (!painting && !heldBack) painting = setTimeout(show, BATCH_MS);
    if (heldBack) tellHeld();
  }

  // What came together, by the time it was written; lines of one container stay in the order they came in.
  function merged(records) {
    const queues = new Map();
    for (const record of records) {
      const of = key(record);
      if (!queues.has(of)) queues.set(of, { at: 0, all: [] });
      queues.get(of).all.push({ record, time: record.time ? digits(record.time) : "" });
    }
    const left = [...queues.values()];
    const ordered = [];
    while (left.length > 1) {
      let next = 0;
      for (let each = 1; each < left.length; each += 1) {
        if (left[each].all[left[each].at].time < left[next].all[left[next].at].time) next = each;
      }
      const queue = left[next];
      ordered.push(queue.all[queue.at].record);
      queue.at += 1;
      if (queue.at === queue.all.length) left.splice(next, 1);
    }
    for (const queue of left) ordered.push(...queue.all.slice(queue.at).map((each) => each.record));
    return ordered;
  }

  function show() {
    painting = 0;
    if (!fresh.length) return;
    const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 8;
    const batch = document.createDocumentFragment();
    for (const record of merged(fresh)) {
      const element = line(record);
      if (element.querySelector("mark")) hits.push(element);
      batch.append(element);
    }
    fresh = [];
    box.append(batch);
    while (box.childElementCount > MOST) {
      box.firstElementChild.remove();
      dropped += 1;
    }
    if (dropped) {
      $("dropped").hidden = false;
      $("dropped").textContent = `${dropped.toLocaleString("en")} older lines are not kept here: ${MOST.toLocaleString("en")} are.`;
    }
    if (atEnd) box.scrollTop = box.scrollHeight;
    if ($("find").value) count();
  }

  function tellHeld() {
    $("hold").textContent = fresh.length ? `Resume (${fresh.length.toLocaleString("en")} new)` : "Resume";
  }

  function say(text, bad = false) {
    $("state").textContent = text;
    $("state").className = bad ? "bad" : "dim";
  }

  // --- reading ---

  function key(record) {
    return `${record.pod}\n${record.container}`;
  }

  function digits(time) {
    const [whole, rest = ""] = time.replace("Z", "").split(".");
    return `${whole}.${rest.padEnd(9, "0")}`;
  }

  // Whether a line was read before the break: earlier than the last one, or one of those of its very time.
  function isKnown(record) {
    const before = replay.get(key(record));
    if (!before || !record.time) return false;
    const at = digits(record.time);
    if (at < before.at) return true;
    if (at === before.at && before.left > 0) {
      before.left -= 1;
      return true;
    }
    replay.delete(key(record));
    return false;
  }

  function note(record) {
    lastAt = performance.now();
    if (!record.time) return;
    lastTime = record.time > lastTime ? record.time : lastTime;
    const at = digits(record.time);
    const place = places.get(key(record));
    if (!place || place.at !== at) places.set(key(record), { at, count: 1, time: record.time });
    else place.count += 1;
    offer("pod", record.pod);
    offer("container", record.container);
  }

  function offer(name, value) {
    const select = $(name);
    if (!value || [...select.options].some((each) => each.value === value)) return;
    if (select.options.length < 500) select.add(new Option(visible(value), value));
  }

  // POD/CONTAINER=INSTANT of each container; "" where they are too many, or written in another way.
  function readUpTo() {
    const all = [...places].map(([at, place]) => `${at.replace("\n", "/")}=${place.time}`).join(",");
    return all.length <= MOST_AFTER && AFTER.test(all) ? all : "";
  }

  function query(isAgain) {
    const asked = new URLSearchParams({ timestamps: "true", follow: String($("follow").checked) });
    for (const name of ["pod", "container"]) if ($(name).value) asked.set(name, $(name).value);
    if ($("previous").checked) asked.set("previous", "true");
    const after = isAgain ? readUpTo() : "";
    if (!isAgain || !lastTime) asked.set("tail", $("tail").value);
    else if (after) asked.set("after", after);
    else {
      const behind = Math.max(performance.now() - lastAt, Date.now() + ahead - Date.parse(lastTime));
      asked.set("since", String(Math.ceil(behind / 1000) + MARGIN_S));
    }
    return asked;
  }

  // One answer, until it ends: {code, message}; null where somebody has stopped it.
  async function read(isAgain, mine) {
    const open = new AbortController();
    look = open;
    try {
      const reply = await fetch(`/v1/jobs/${encodeURIComponent(box.dataset.uid)}/logs?${query(isAgain)}`, {
        headers: { "X-Roadstead-Page": board.dataset.mark },
        signal: open.signal,
      });
      if (reply.status === 401) window.location.reload();
      if (!reply.ok) {
        const problem = await reply.json().catch(() => ({}));
        return { code: problem.code ?? "", message: problem.detail ?? `the hub answers ${reply.status}` };
      }
      say($("follow").checked ? "following" : "reading");
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (turn !== mine) return null;
        if (done) return { code: "CutOff", message: "the connection was cut off" };
        const records = (rest + value).split("\n");
        rest = records.pop();
        for (const text of records) {
          if (!text) continue;
          const record = JSON.parse(text);
          if (record.end) return record.end;
          if (isKnown(record)) continue;
          note(record);
          take(record);
        }
      }
    } catch {
      return turn === mine ? { code: "Unreachable", message: "the hub does not answer" } : null;
    }
  }

  async function go(isAgain) {
    turn += 1;
    const mine = turn;
    look?.abort();
    running(true);
    for (let tries = 0; turn === mine; tries += 1) {
      if (document.getElementById("stands")?.dataset.there !== "yes") {
        say("no cluster holds pods of it yet: its logs begin when it starts");
        await new Promise((done) => setTimeout(done, LOOK_MS));
        continue;
      }
      const before = lastAt;
      replay = new Map([...places].map(([at, place]) => [at, { at: place.at, left: place.count }]));
      const end = await read(isAgain || tries > 0, mine);
      if (turn !== mine || !end) return;
      if (end.code === "Ended") {
        say("all is read: nothing more is written");
        break;
      }
      const sentence = [end.code, end.message].filter(Boolean).join(": ");
      if (!PASSING.has(end.code) || !$("follow").checked) {
        say(sentence, true);
        break;
      }
      if (lastAt !== before) tries = 0;
      say(`${sentence}; asking again`);
      await new Promise((done) => setTimeout(done, RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]));
    }
    if (turn === mine) running(false);
  }

  function running(is) {
    box.hidden = false;
    $("start").textContent = is ? "Stop" : "Show logs";
    $("hold").disabled = !is;
  }

  function stop() {
    turn += 1;
    look?.abort();
    look = null;
  }

  function start() {
    stop();
    box.replaceChildren();
    places = new Map();
    lastTime = "";
    fresh = [];
    hits = [];
    dropped = 0;
    $("dropped").hidden = true;
    hold(false);
    say("asking the cluster…");
    go(false);
  }

  function isRunning() {
    return $("start").textContent === "Stop";
  }

  function hold(is) {
    heldBack = is;
    $("hold").setAttribute("aria-pressed", String(is));
    $("hold").textContent = "Pause";
    if (is) tellHeld();
    else show();
  }

  // --- finding ---

  function find() {
    hits = [...box.children].filter(paint);
    hit = -1;
    count();
    if (hits.length) jump(hits.length - 1); // the newest
  }

  function count() {
    const word = hits.length === 1 ? "line" : "lines";
    $("hits").textContent = $("find").value ? `${hits.length.toLocaleString("en")} ${word}` : "";
  }

  function step(by) {
    hits = hits.filter((each) => each.isConnected);
    const first = by > 0 ? 0 : hits.length - 1;
    if (hits.length) jump(hit < 0 ? first : (hit + by + hits.length) % hits.length);
  }

  function jump(to) {
    hit = to;
    box.querySelector(".current")?.classList.remove("current");
    hits[hit].classList.add("current");
    box.scrollTop = hits[hit].offsetTop - box.offsetTop - box.clientHeight / 2;
  }

  // --- controls ---

  $("start").addEventListener("click", () => {
    if (!isRunning()) return start();
    stop();
    running(false);
    say("stopped");
  });
  $("hold").addEventListener("click", () => hold(!heldBack));
  for (const name of ["follow", "pod", "container", "previous", "tail"]) {
    $(name).addEventListener("change", () => isRunning() && start());
  }
  $("times").addEventListener("change", () => box.classList.toggle("times", $("times").checked));
  $("wrap").addEventListener("change", () => box.classList.toggle("wrap", $("wrap").checked));
  $("find").addEventListener("input", find);
  $("find").addEventListener("keydown", (event) => event.key === "Enter" && step(event.shiftKey ? -1 : 1));
  $("next-hit").addEventListener("click", () => step(1));
  $("previous-hit").addEventListener("click", () => step(-1));
  $("form").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("pods", (event) => {
    for (const pod of event.detail) {
      offer("pod", pod.name);
      for (const each of pod.containers) offer("container", each.name);
    }
  });
  // Nobody reads a page that is hidden, or left: its cluster is let go, and asked to go on from there later.
  let left = false;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && isRunning() && $("follow").checked) {
      left = true;
      stop();
    } else if (!document.hidden && left) {
      left = false;
      go(true);
    }
  });
  window.addEventListener("pagehide", stop);
  $("form").hidden = false;
  if (window.location.hash === "#logs") start();
})();
