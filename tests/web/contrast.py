"""How well texts stand out, asked of a browser."""

# Whatever text is on the page: its contrast with what is behind it, as WCAG 2 computes it.
FAINT = """() => {
  const parts = (color) => {
    const c = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    c.fillStyle = color; c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = parts(getComputedStyle(e).backgroundColor);
      if (color[3] === 255) return color;
    }
  };
  const faint = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [light(parts(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faint.push(`${e.className} ${e.textContent.trim().slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return faint;
}"""
