// Words for numbers: short, with units, a dash for what was not told.

export const DASH = "–";

/** `40 s`, `14 m`, `3 h 05 m`, `2 d 4 h`. */
export function duration(seconds: number): string {
  const sign = seconds <= -1 ? "-" : "";
  const total = Math.floor(Math.abs(seconds));
  const minutes = Math.floor(total / 60) % 60;
  const hours = Math.floor(total / 3600) % 24;
  if (total < 60) return `${sign}${total} s`;
  if (total < 3600) return `${sign}${minutes} m`;
  if (total < 86_400) return `${sign}${hours} h ${String(minutes).padStart(2, "0")} m`;
  return `${sign}${Math.floor(total / 86_400)} d ${hours} h`;
}

/** What is left of a time: `14:59`, `1:02:03`. Not 0:00 before it is over. */
export function countdown(seconds: number): string {
  const total = Math.max(0, Math.ceil(seconds));
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(total / 60) % 60;
  return total < 3600 ? `${minutes}:${two(total % 60)}` : `${Math.floor(total / 3600)}:${two(minutes)}:${two(total % 60)}`;
}

export function number(value: number | null, decimals: number): string {
  return value === null ? DASH : value.toFixed(decimals);
}

export function dollars(value: number | null, decimals = 2): string {
  return value === null ? DASH : `$${value.toFixed(decimals)}`;
}

/** Milliseconds of an RFC 3339 time. */
export function ms(time: string): number {
  return Date.parse(time);
}

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long", hour12: false });
const dayFormat = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hour12: false,
});

/** `14:02:09`, local. */
export function clockTime(time: string): string {
  return clockFormat.format(ms(time));
}

/** `Dec 1, 14:02`, local. */
export function dayTime(time: string): string {
  return dayFormat.format(ms(time));
}

/** The whole time, local with zone and in UTC: for titles. */
export function fullTime(time: string): string {
  return `${fullFormat.format(ms(time))}\n${time.replace("T", " ").replace(/\.\d+Z$/, "Z")}`;
}

/** The first block of a UUID; whatever else an id is, whole. */
export function shortId(row: { id: string; uuid: string | null }): string {
  const first = row.id.split("-")[0] ?? row.id;
  return row.uuid !== null && first.length >= 8 ? first : row.id;
}

export function gpu(row: { gpu_name: string | null; num_gpus: number | null }): string {
  if (row.gpu_name === null) return DASH;
  return (row.num_gpus ?? 1) > 1 ? `${row.num_gpus}× ${row.gpu_name}` : row.gpu_name;
}
