/** Texts of what a program has thrown. Reads may run code of the program, so each is guarded. */
import { textLengthMax } from './host.js';

export function messageOf(thrown) {
  try {
    const text = thrown.message;
    return typeof text === 'string' ? text : String(text);
  } catch {
    return '';
  }
}

export function describeThrown(thrown) {
  try {
    if (thrown instanceof Error) {
      const { name } = thrown;
      const text = messageOf(thrown);
      if (typeof name !== 'string' || name === '') return text;
      return text === '' ? name : cut(name, textLengthMax) + ': ' + text;
    }
    if (typeof thrown === 'bigint') return thrown + 'n';
    const text = String(thrown);
    return text === '[object Object]' ? String(JSON.stringify(thrown)) : text;
  } catch {
    return 'a value that cannot be shown';
  }
}

export function stackOf(thrown) {
  try {
    const text = typeof thrown === 'object' && thrown !== null ? thrown.stack : undefined;
    return typeof text === 'string' ? text : '';
  } catch {
    return '';
  }
}

export function cut(text, lengthMax) {
  if (text.length <= lengthMax) return text;
  return text.slice(0, lengthMax) + '\u2026 (' + (text.length - lengthMax) + ' more characters)';
}
