// Turns what short_json.py packed back into the same values.

function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && Object.hasOwn(UNPACK, keys[0])) return UNPACK[keys[0]](value[keys[0]]);
  return keyed(keys, Object.values(value).map(unpacked));
}
// An object of any keys; an assignment to `__proto__` would make no key.
const keyed = (keys, values) => Object.fromEntries(keys.map((key, place) => [key, values[place]]));
const UNPACK = {
  $same([packed, count]) {
    const value = unpacked(packed);
    return Array.from({ length: count }, () => value);
  },
  $steps: (steps) =>
    steps.flatMap((step) =>
      Array.isArray(step) ? Array.from({ length: step[2] }, (_, place) => step[0] + step[1] * place) : [step],
    ),
  $chosen([values, places]) {
    const from = unpacked(values);
    return unpacked(places).map((place) => from[place]);
  },
  $names([lengths, rests]) {
    const shared = unpacked(lengths);
    let before = "";
    return unpacked(rests).map((rest, place) => (before = before.slice(0, shared[place]) + rest));
  },
  $fixed: ([digits, whole]) => whole.map((number) => number / 10 ** digits),
  $hex([lengths, text]) {
    const digits = Array.from(atob(text), (byte) => byte.charCodeAt(0).toString(16).padStart(2, "0")).join("");
    let from = 0;
    return unpacked(lengths).map((length) => digits.slice(from, (from += length)));
  },
  $rows([numbers, tables]) {
    const rows = tables.map(([form, packed]) => {
      const columns = form === null ? unpacked(packed) : packed.map(unpacked);
      if (form === null) return (place) => columns[place];
      const row = (place) => columns.map((column) => column[place]);
      return Array.isArray(form) ? (place) => keyed(form, row(place)) : row;
    });
    const taken = tables.map(() => 0);
    return unpacked(numbers).map((number) => rows[number](taken[number]++));
  },
  $pairs: ([keys, values]) => keyed(unpacked(keys), unpacked(values)),
};
