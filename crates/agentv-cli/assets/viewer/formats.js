// How numbers, durations and money are written for people. The same as figures.rs: one table of examples tests both.

// A number with so many digits behind the point. Ties go to the even digit, as they do in Rust.
export function fixed(value, digits) {
  const exact = Math.abs(value).toFixed(digits + 60);
  const cut = exact.slice(0, exact.length - 60);
  const isTie = /^50*$/.test(exact.slice(-60)) && /[02468]\.?$/.test(cut);
  const text = isTie ? cut.replace(/\.$/, "") : Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `-${text}` : text;
}

export function score(value) {
  return fixed(value, 3);
}

export function percent(share) {
  return `${fixed(share * 100, 1)} %`;
}

export function count(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}

export function millis(time) {
  const whole = Math.floor(time);
  const seconds = Math.floor(time / 1000);
  const two = (number) => String(number).padStart(2, "0");
  if (seconds < 1) return `${whole} ms`;
  if (seconds < 60 && whole < 59950) return `${fixed(time / 1000, 1)} s`;
  if (seconds < 60) return "1 min 00 s";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

export function money(dollars) {
  const size = Math.abs(dollars);
  if (dollars === 0 || size >= 1) return `$${fixed(dollars, 2)}`;
  return size >= 0.0001 ? `$${fixed(dollars, 4)}` : `$${fixed(dollars, 6)}`;
}

export function tokens(number) {
  const whole = Math.round(number);
  if (whole < 1000) return String(whole);
  if (whole < 999950) return `${fixed(whole / 1e3, 1)}k`;
  if (whole < 999950000) return `${fixed(whole / 1e6, 1)}M`;
  return `${fixed(whole / 1e9, 1)}G`;
}

// A moment, as the reader's own clock has it.
export function moment(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return String(iso);
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
