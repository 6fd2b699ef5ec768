// A link of the form http://hub/#token=… signs in: the fragment never leaves the browser by itself.
const given = new URLSearchParams(window.location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", window.location.pathname);
  document.getElementById("token").value = given;
  document.getElementById("login").submit();
}
