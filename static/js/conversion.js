// What an amount comes to in its section's unit, and which part of it is the customer's, is
// said beside it while it is typed: "× 50% = $83.33 a month". Whole cents, halves away from
// zero, as in internal/form (D49, D53).
// What this can't read, such as "2,000 per year", the server says after the next save.
const written = /^\s*\+?\s*(?:(?:au?)?\$|aud)?\s*(.*?)\s*(k?)\s*$/is;
const plain = /^(?=.*\d)(?:\d*|\d{1,3}(?:[,\s]\d{3})+)(?:\.\d{0,2})?$/;
const timesAYear = { week: 52n, fortnight: 26n, month: 12n, quarter: 4n, year: 1n, once: 1n };

// cents of a text, such as "1,250.50", "$2k" and "+500"; null if it can't be read here.
function centsOf(text) {
  const [, number, thousands] = written.exec(text.normalize("NFKC"));
  if (!plain.test(number)) return null;
  const [dollars, cents = ""] = number.replace(/[,\s]/g, "").split(".");
  return BigInt(dollars + cents.padEnd(2, "0")) * (thousands ? 1000n : 1n);
}

function display(cents) {
  const digits = String(cents).padStart(3, "0");
  return `$${digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ",")}.${digits.slice(-2)}`;
}

// shareOf is the customer's percentage of the amount (D78), null if it isn't known.
function shareOf(line) {
  if (!line.dataset.share) return 100n;
  const typed = /^\s*(\d{1,3})\s*%?\s*$/.exec(document.getElementById(line.dataset.share)?.value ?? "");
  return typed && Number(typed[1]) <= 100 ? BigInt(typed[1]) : null;
}

// converted is what the line of a field should say, null if this script can't tell.
function converted(line) {
  const unit = line.dataset.unit || "once";
  let yearly = 0n;
  let differs = 0;
  for (const amount of line.parentElement.querySelectorAll(".amount")) {
    const text = amount.querySelector("input").value;
    const period = amount.querySelector("select")?.value ?? unit;
    if (!text.trim()) continue;
    const cents = centsOf(text);
    if (cents === null || !(period in timesAYear)) return null;
    yearly += cents * timesAYear[period];
    differs += period === unit ? 1 : 2; // two amounts of the unit are a sum, too
  }
  const share = shareOf(line);
  if (share === null || (differs < 2 && (share === 100n || !differs))) return "";
  const times = timesAYear[unit] * 100n;
  const part = share === 100n ? "" : `× ${share}% `;
  return part + line.dataset.text.replace("{amount}", display((2n * yearly * share + times) / (2n * times)));
}

// convert brings the line up to date, and reports whether it could.
export function convert(line) {
  const text = converted(line);
  if (line.textContent.trim() !== (text ?? "")) line.textContent = text ?? "";
  return text !== null;
}

for (const kind of ["input", "change"]) {
  document.addEventListener(kind, ({ target }) => {
    const line = target.closest?.(".field-money")?.querySelector(".conversion");
    if (line) convert(line);
    if (target.id) for (const shared of document.querySelectorAll(`.conversion[data-share="${CSS.escape(target.id)}"]`)) convert(shared);
  });
}
