/** Code and patterns made from text. */
import { construct, dressConstructor } from './intrinsics.js';
import { textTooLong, toText } from './measures.js';
import { patternText } from './text-guards.js';

function shortCode(parts) {
  let length = 0;
  for (let index = 0; index < parts.length; index += 1) {
    parts[index] = toText(parts[index]);
    length += parts[index].length;
  }
  if (length > slowCountMax) textTooLong();
  return parts;
}

const NativeFunction = Function;
const NativeRegExp = RegExp;
dressConstructor(function Function(...parts) {
  return construct(NativeFunction, shortCode(parts), new.target ?? NativeFunction);
}, NativeFunction);
dressConstructor(function RegExp(pattern, flags) {
  if (new.target === undefined) return NativeRegExp(patternText(pattern), flags);
  return construct(NativeRegExp, [patternText(pattern), flags], new.target);
}, NativeRegExp);
