// Actions: a button opens a dialog with what would happen, asked of the hub; the dialog holds one call of the
// REST API, which is sent when its button is pressed. Everything it shows was rendered and escaped by the hub.
"use strict";

(() => {
  const dialog = document.createElement("dialog");
  dialog.className = "act";
  dialog.setAttribute("aria-labelledby", "act-title");
  document.body.append(dialog);
  const RENEW_MS = 3000;
  let asked = ""; // the address of the dialog that is open
  let renewed = 0;

  async function ask(address) {
    const reply = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
    if (reply === null) return fault("The hub does not answer. Nothing was changed.");
    const text = await reply.text();
    return reply.ok ? text : fault(why(reply.status, text));
  }

  function fault(sentence) {
    const form = document.createElement("form");
    form.className = "act";
    form.innerHTML =
      '<h2 id="act-title">This can not be done now</h2><p class="fault" role="alert"></p>' +
      '<p class="choose"><button type="button" data-close autofocus>Close</button></p>';
    form.querySelector(".fault").textContent = sentence;
    return form.outerHTML;
  }

  function why(status, text) {
    if (status === 401) return "You are signed out, or your session has ended: load the page again and sign in.";
    const told = parsed(text);
    if (!told) return `The hub answered ${status}; its log says why.`;
    const fields = (told.errors ?? []).map((each) => `${each.field}: ${each.message}`);
    const detail = told.detail ?? `The hub answered ${status}.`;
    return [detail, ...fields.filter((each) => !detail.includes(each))].join(" · ");
  }

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  async function open(address) {
    asked = address;
    dialog.innerHTML =
      '<h2 id="act-title">One moment</h2><p class="dim" role="status">Asking the hub what would happen…</p>';
    dialog.showModal();
    await show(address);
  }

  async function show(address, focused = "") {
    const text = await ask(address);
    if (!dialog.open || asked !== address.split("?")[0]) return; // closed meanwhile
    dialog.innerHTML = text;
    const field = focused && dialog.querySelector(`[name="${CSS.escape(focused)}"]`);
    (field || dialog.querySelector("[autofocus]"))?.focus();
  }

  function renew(field) {
    const form = field.form;
    const query = new URLSearchParams(new FormData(form));
    show(`${form.dataset.again}?${query}`, field.name);
  }

  function bodyOf(form) {
    const body = form.dataset.body ? JSON.parse(form.dataset.body) : undefined;
    for (const field of form.querySelectorAll("[data-into]")) {
      const path = field.dataset.into.split(".");
      const last = path.pop();
      const at = path.reduce((inner, name) => inner[name], body);
      at[last] = field.type === "checkbox" ? field.checked : field.value.trim();
    }
    return body;
  }

  async function act(form) {
    if (form.dataset.sent) return; // one press, one call
    form.dataset.sent = "yes";
    const press = form.querySelector("button:not([data-close])");
    press.disabled = true;
    const { method, path, mark, header, key } = form.dataset;
    const body = bodyOf(form);
    const headers = { Accept: "application/json", [header]: mark };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    const sent = body === undefined ? undefined : JSON.stringify(body);
    tell(form, "work", "Asking the hub…");
    const reply = await fetch(path, { method, headers, body: sent }).catch(() => null);
    if (reply === null) {
      return key ? again(form, press) : lookAgain(form, press);
    }
    const text = await reply.text();
    if (!reply.ok) {
      tell(form, "bad", why(reply.status, text));
      return allow(form, press);
    }
    press.remove();
    form.querySelectorAll("[data-into]").forEach((each) => (each.disabled = true));
    tell(form, "good", ...cameOf(parsed(text) ?? {}, reply.status, method));
    form.querySelector("[data-close]").focus();
    document.dispatchEvent(new Event("roadstead:acted"));
  }

  function again(form, press) {
    tell(form, "bad", "The hub did not answer: whether it was done is not known. Pressed again it is done once.");
    allow(form, press);
  }

  // Done twice it could mean something else: a job is released to wait for others, and then regardless of them.
  function lookAgain(form, press) {
    tell(form, "bad", "The hub did not answer: whether it was done is not known. Look again first.");
    press.type = "button";
    press.textContent = "Look again";
    press.dataset.look = "";
    press.disabled = false;
  }

  function allow(form, press) {
    delete form.dataset.sent;
    press.disabled = false;
  }

  function tell(form, tone, sentence, link) {
    const place = form.querySelector(".outcome");
    place.className = `outcome ${tone}`;
    place.textContent = sentence;
    if (!link) return;
    const anchor = document.createElement("a");
    anchor.href = link;
    anchor.textContent = "Look at it";
    place.append(" ", anchor);
  }

  // What the API answered, as a sentence; and where to look.
  function cameOf(told, status, method) {
    if ("jobCount" in told) {
      const stays = told.blocked ? `; ${told.blocked} placements stay for now` : "";
      return [`${told.name} is drained: ${told.jobCount} jobs are withdrawn${stays}.`];
    }
    if (told.kind === "ClusterQueue" || told.kind === "LocalQueue") {
      const name = told.namespace ? `${told.namespace}/${told.name}` : told.name;
      return [`Done: ${name} has ${told.pending} waiting and ${told.admitted} admitted.`];
    }
    if (!("uid" in told)) return [`${told.name} is ${told.state}.`];
    const name = `${told.namespace}/${told.name}`;
    if (status === 201) return [`${name} is submitted.`, `/jobs/${encodeURIComponent(told.uid)}`];
    if (told.state === "Withdrawing") {
      return [`${name} is being withdrawn from ${told.cluster}; then it is ${told.withdrawTo}.`];
    }
    if (method === "DELETE") return [`${name} is deleted; its name is free.`];
    const priority = told.priorityClass ? `, priority ${told.priority} (${told.priorityClass})` : "";
    return [`${name} is ${told.state}${priority}.`];
  }

  async function offer() {
    renewed = Date.now();
    for (const place of document.querySelectorAll("[data-acts]")) {
      const reply = await fetch(place.dataset.acts, { headers: { Accept: "application/json" } }).catch(() => null);
      if (!reply?.ok) continue; // what is there stays: each action is judged when it is asked
      const wanted = await reply.text();
      const focused = place.contains(document.activeElement) ? document.activeElement.dataset.act : "";
      if (place.innerHTML.trim() === wanted.trim()) continue;
      place.innerHTML = wanted;
      if (focused) place.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus();
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button) open(button.dataset.act);
    if (event.target.closest("[data-look]")) show(asked);
    if (event.target.closest("[data-close]") || event.target === dialog) dialog.close();
  });
  dialog.addEventListener("change", (event) => {
    if (event.target.dataset.renews !== undefined) renew(event.target);
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    act(event.target);
  });
  dialog.addEventListener("close", () => {
    document.querySelector(`[data-act="${CSS.escape(asked)}"]`)?.focus(); // the button may be a new one
    asked = "";
  });
  document.addEventListener("roadstead:acted", offer);
  document.addEventListener("roadstead:news", () => {
    if (!dialog.open && Date.now() - renewed > RENEW_MS) offer();
  });
  if (document.querySelector("[data-acts]:empty")) offer();
})();
