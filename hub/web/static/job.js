// The page of a job: buttons that copy, and its pods, which the hub asks of the job's cluster when somebody
// looks at them. Whatever comes from there is put on the page as text.
"use strict";

(() => {
  const COPIED_MS = 1500;
  const QUIET_MS = 4000; // between two times that pods are asked for because something has changed
  const shown = document.getElementById("pods-shown");
  const asOf = document.getElementById("pods-asof");
  const again = document.getElementById("pods-again");
  const head = document.getElementById("part-head");
  const TRIES = 5; // while its pods are on their way
  const SOON = new Set(["NoPodsYet", "AgentNotListening"]);
  let soon = TRIES;
  let asked = 0;
  let waiting = 0;

  function made(name, options = {}, ...children) {
    const element = document.createElement(name);
    const { text, ...rest } = options;
    if (text !== undefined) element.textContent = text;
    for (const [key, value] of Object.entries(rest)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // --- copying ---

  async function copy(button) {
    const of = button.dataset.copyOf;
    const text = of ? document.getElementById(of).textContent : button.dataset.copy;
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      done = copyOldWay(text); // not by TLS: there is no clipboard
    }
    button.textContent = done ? "Copied" : "Select and copy";
    setTimeout(() => (button.textContent = "Copy"), COPIED_MS);
  }

  function copyOldWay(text) {
    const field = made("textarea", { class: "unseen" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button.copy");
    if (button) copy(button);
  });

  // --- pods ---

  async function ask() {
    asked = Date.now();
    clearTimeout(waiting);
    waiting = 0;
    again.hidden = document.getElementById("stands")?.dataset.there !== "yes";
    if (again.hidden) {
      asOf.textContent = "";
      return say("No cluster holds pods of it yet.");
    }
    again.disabled = true;
    asOf.textContent = "asking the cluster…";
    let reply = null;
    try {
      reply = await fetch(`/v1/jobs/${encodeURIComponent(shown.dataset.uid)}/pods`, {
        headers: { "X-Roadstead-Page": board.dataset.mark },
      });
      const body = await reply.json();
      if (reply.ok) tell(body);
      else say(body.detail ?? `the hub answers ${reply.status}`, body.code);
      soon = SOON.has(body.code) && soon > 0 ? soon - 1 : reply.ok ? TRIES : 0;
      if (SOON.has(body.code) && soon) waiting = setTimeout(ask, QUIET_MS);
    } catch {
      say("the hub does not answer");
    }
    if (reply?.status === 401) window.location.reload();
    asOf.textContent = reply?.ok ? `as of ${new Date(Date.now() + ahead).toISOString().slice(11, 19)} UTC` : "";
    again.disabled = false;
  }

  function say(sentence, code) {
    const said = made("p", { class: "dim" });
    if (code) said.append(made("b", { text: code }), ": ");
    said.append(sentence);
    shown.replaceChildren(said);
  }

  function tell(found) {
    const parts = [];
    if (!found.items.length) parts.push(made("p", { class: "dim", text: `${found.cluster} has no pods of it.` }));
    else parts.push(podsTable(found));
    if (found.leftOut) parts.push(made("p", { class: "dim small", text: `and ${found.leftOut} more` }));
    parts.push(eventsOf(found));
    const open = shown.querySelector("details")?.open;
    shown.replaceChildren(...parts);
    if (open) shown.querySelector("details").open = true;
    document.dispatchEvent(new CustomEvent("pods", { detail: found.items }));
  }

  function podsTable(found) {
    const heads = ["Pod", "Phase", "Why", "Exit", "Restarts", "Node", "Started", "Ended"];
    const table = made("table", { class: "plain stacks", role: "table" });
    table.append(made("caption", { class: "unseen", text: `Pods of the job in ${found.cluster}` }));
    const named = heads.map((text) => made("th", { role: "columnheader", scope: "col", text }));
    table.append(made("thead", { role: "rowgroup" }, made("tr", { role: "row" }, ...named)));
    table.append(made("tbody", { role: "rowgroup" }, ...found.items.map(podRow)));
    return made("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Pods" }, table);
  }

  function podRow(pod) {
    const ended = pod.containers.filter((each) => each.exitCode !== null);
    const exits = [...new Set(ended.map((each) => each.exitCode))].join(", ");
    const tones = { Running: "work", Succeeded: "good", Failed: "bad" };
    const why = [pod.reason, pod.message].filter(Boolean).join(": ");
    const last = pod.containers.find((each) => each.restarts && each.lastReason);
    const before = last ? ` (before: ${last.lastReason}${last.lastExitCode === null ? "" : ` ${last.lastExitCode}`})` : "";
    // A narrow page has no columns: there `data-of` is shown before each value.
    const cell = (of, given, ...inside) => made("td", { role: "cell", "data-of": of, ...given }, ...inside);
    const phase = made("span", { class: `state ${tones[pod.phase] ?? "wait"}`, text: pod.phase });
    return made(
      "tr",
      { role: "row" },
      made("th", { role: "rowheader", scope: "row", text: pod.name }),
      cell("Phase", {}, phase),
      made("td", { role: "cell", class: "says", text: why }),
      cell("Exit", { class: "num", text: exits }),
      cell("Restarts", { class: "num", text: `${pod.restarts}${before}` }),
      cell("Node", { text: pod.node || "–" }),
      cell("Started", { class: "age", text: clock(pod.startedAt) }),
      cell("Ended", { class: "age", text: clock(pod.finishedAt) }),
    );
  }

  function eventsOf(found) {
    if (found.eventsUnread) return made("p", { class: "dim small", text: `Events can not be read: ${found.eventsUnread}` });
    const lines = [...found.events].reverse().map((each) =>
      made(
        "li",
        {},
        made("span", { class: "dim", text: `${clock(each.at)} ` }),
        made("b", { class: each.type === "Warning" ? "bad" : "", text: each.reason }),
        ` ${each.object}: ${each.message}${each.count > 1 ? ` (${each.count} times)` : ""}`,
      ),
    );
    const title = `${lines.length} events of the cluster's objects`;
    return made("details", {}, made("summary", { text: title }), made("ol", { class: "story-lines" }, ...lines));
  }

  function clock(at) {
    return at ? at.slice(11, 19) : "–";
  }

  // Asked again when the job's state or its counts have changed, and never on every renewal.
  function standing() {
    const state = document.getElementById("stands")?.dataset.state ?? "";
    return state + (document.getElementById("fact-Pods")?.textContent ?? "");
  }

  let stood = standing();
  new MutationObserver(() => {
    const stands = standing();
    if (stands === stood) return;
    stood = stands;
    if (!waiting) waiting = setTimeout(ask, Math.max(0, asked + QUIET_MS - Date.now()));
  }).observe(head, { subtree: true, childList: true, characterData: true, attributes: true });
  again.addEventListener("click", ask);
  ask();
})();
