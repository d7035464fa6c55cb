import { encodeSets, percentDecode, percentEncode } from './percent.ts';

const forbidden = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const forbiddenInDomain = /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/;

/** The host of a URL as it is written in one; `undefined` if it is not valid. */
export function parseHost(text: string, isSpecial: boolean): string | undefined {
  if (text.startsWith('[')) {
    const address = text.endsWith(']') ? parseIpv6(text.slice(1, -1)) : undefined;
    return address === undefined ? undefined : `[${address}]`;
  }
  if (!isSpecial) {
    return forbidden.test(text) ? undefined : percentEncode(text, encodeSets.control);
  }
  const domain = domainToAscii(percentDecode(text));
  if (domain === undefined || domain === '' || forbiddenInDomain.test(domain)) return undefined;
  const parts = domain.split('.');
  if (parts.length > 1 && parts.at(-1) === '') parts.pop();
  const isNumber = /^(?:\d+|0[xX][\da-fA-F]*)$/.test(parts.at(-1) ?? '');
  return isNumber ? parseIpv4(parts) : domain;
}

/** Lower case, and names outside of ASCII in Punycode. */
function domainToAscii(text: string): string | undefined {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
  const mapped = text.replace(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, '').normalize('NFKC');
  const labels = mapped
    .toLowerCase()
    .normalize('NFC')
    .split(/[.\u3002\uff0e\uff61]/);
  const written = labels.map((label) =>
    /^[\0-\x7f]*$/.test(label) ? label : punycodeOf([...label].map((one) => codeOf(one))),
  );
  return written.includes(undefined) ? undefined : written.join('.');
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;

/** RFC 3492. Labels have at most 63 characters, and the work grows with the square of that. */
function punycodeOf(codes: readonly number[]): string | undefined {
  if (codes.length > 63) return undefined;
  const basic = codes.filter((code) => code < 0x80);
  let out = basic.map((code) => String.fromCharCode(code)).join('');
  if (out !== '') out += '-';
  let [next, delta, bias, handled] = [0x80, 0, 72, basic.length];
  while (handled < codes.length) {
    const lowest = Math.min(...codes.filter((code) => code >= next));
    delta += (lowest - next) * (handled + 1);
    next = lowest;
    for (const code of codes) {
      if (code < next) delta += 1;
      if (code !== next) continue;
      out += digitsOf(delta, bias);
      bias = adapted(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled += 1;
    }
    delta += 1;
    next += 1;
  }
  return `xn--${out}`;
}

function digitsOf(delta: number, bias: number): string {
  let out = '';
  let rest = delta;
  for (let base = 36; ; base += 36) {
    const threshold = Math.min(26, Math.max(1, base - bias));
    if (rest < threshold) return out + digit(rest);
    const value = threshold + ((rest - threshold) % (36 - threshold));
    out += digit(value);
    rest = Math.floor((rest - threshold) / (36 - threshold));
  }
}

/** `a` to `z`, then `0` to `9`. */
function digit(value: number): string {
  return String.fromCharCode(value < 26 ? 0x61 + value : 0x16 + value);
}

function adapted(given: number, points: number, isFirst: boolean): number {
  let delta = isFirst ? Math.floor(given / 700) : given >> 1;
  delta += Math.floor(delta / points);
  let base = 0;
  for (; delta > 455; base += 36) delta = Math.floor(delta / 35);
  return base + Math.floor((36 * delta) / (delta + 38));
}

function parseIpv4(parts: readonly string[]): string | undefined {
  if (parts.length > 4) return undefined;
  const numbers = parts.map(ipv4Number);
  const last = numbers.pop();
  if (last === undefined || numbers.some((one) => one === undefined || one > 255)) return undefined;
  if (last >= 256 ** (4 - numbers.length)) return undefined;
  let address = last;
  for (const [at, one] of numbers.entries()) address += (one ?? 0) * 256 ** (3 - at);
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

function ipv4Number(text: string): number | undefined {
  if (/^0[xX][\da-fA-F]*$/.test(text)) return text.length === 2 ? 0 : Number(text);
  if (/^0[0-7]+$/.test(text)) return Number.parseInt(text, 8);
  return /^(?:0|[1-9]\d*)$/.test(text) ? Number(text) : undefined;
}

/** Eight groups, the longest run of zeros as `::`. */
function parseIpv6(text: string): string | undefined {
  const ended = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  const given = ended === null ? text : withoutIpv4(ended.slice(1));
  const halves = given?.split('::') ?? [];
  if (halves.length === 0 || halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const written = [...head, ...Array<string>(halves.length === 1 ? 0 : missing).fill('0'), ...tail];
  if (!written.every((group) => /^[\da-fA-F]{1,4}$/.test(group))) return undefined;
  return compressed(written.map((group) => Number.parseInt(group, 16)));
}

function withoutIpv4([before = '', ...parts]: readonly string[]): string | undefined {
  const numbers = parts.map(Number);
  const isValid = parts.every(
    (part, at) => /^(?:0|[1-9]\d*)$/.test(part) && (numbers[at] ?? 0) < 256,
  );
  if (!isValid) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = numbers;
  return `${before}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function compressed(groups: readonly number[]): string {
  let [from, length] = [-1, 1];
  for (let at = 0; at < 8; at += 1) {
    let end = at;
    while (end < 8 && groups[end] === 0) end += 1;
    if (end - at > length) [from, length] = [at, end - at];
  }
  const texts = groups.map((group) => group.toString(16));
  if (from < 0) return texts.join(':');
  return `${texts.slice(0, from).join(':')}::${texts.slice(from + length).join(':')}`;
}
