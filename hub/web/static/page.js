// Renews the page as the hub changes: the server renders, this swaps the result in.
const live = document.getElementById("live");
const asof = document.getElementById("asof");
const stream = new EventSource(live.dataset.stream);
let heard = Date.now();

stream.onmessage = (event) => {
  const { at, html } = JSON.parse(event.data);
  const top = window.scrollY;
  live.innerHTML = html; // rendered and escaped by the hub
  window.scrollTo(0, top);
  asof.className = "";
  asof.textContent = `as of ${at}`;
  heard = Date.now();
};
stream.addEventListener("ended", () => { stream.close(); window.location.reload(); });

setInterval(() => {
  const silent = Math.round((Date.now() - heard) / 1000);
  if (silent > 20) {
    asof.className = "stale";
    asof.textContent = `no news from the hub for ${silent} s`;
  }
}, 1000);
