// What stands behind # in the address is sent to no server: it comes along in what is sent to sign in.
"use strict";

(() => {
  const place = window.location.hash;
  if (!place) return;
  const to = document.querySelector("input[name=to]");
  if (to && !to.value.includes("#")) to.value += place;
  const provider = document.querySelector("a.button[href*='?to=']");
  if (provider) provider.href += encodeURIComponent(place);
})();
