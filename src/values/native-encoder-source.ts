/**
 * Source of native encoders. Checks come first, then one claim of bytes for everything of fixed
 * width up to the next string, array or branch, then the stores:
 *
 * ```js
 * const v1 = v["id"];
 * if (v1 >>> 0 !== v1) fail(".id", "u32", v1);
 * const v2 = v["level"];
 * if ((v2 & 255) !== v2) fail(".level", "u8", v2);
 * const o3 = w.claim(5), d3 = w.dataView;
 * d3.setUint32(o3, v1, true);
 * d3.setUint8(o3 + 4, v2);
 * ```
 */
import { limits } from '../limits.ts';
import { type IntegerKind, integerRange } from './integer-range.ts';
import { fixedSizeOf, scalarBytes } from './layout.ts';
import { nativeName, stepText } from './native-check.ts';
import { specialElements, specialKindOf, specialProductKindOf } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

/** The body of a function of `h` (helpers) and `name` that returns the encoder. */
export function encoderSource(type: AlgebraicType, typespace: Typespace): string {
  const source = new EncoderSource(typespace);
  const root = source.function(type, '0');
  return [
    '"use strict";',
    'const { asTypeError, checkEmptyElements, fail, failDepth, failTag } = h;',
    'const { inside, isArray, isFloats, bytesOf, writeFloat32, writeFloat64, writeWide } = h;',
    ...source.functions,
    'return function (w, v) {',
    `  try { ${root}(w, v, 0); } catch (error) { throw asTypeError(error, name); }`,
    '};',
  ].join('\n');
}

/** A value in the generated code: an expression for it, one for its path, and its nesting depth. */
interface Place {
  readonly value: string;
  readonly path: string;
  /** Levels around it, not counting those of the function's caller. */
  readonly depth: number;
}

class EncoderSource {
  readonly functions: string[] = [];
  readonly #typespace: Typespace;
  /** Names of the functions of refs: for recursion, and to share code that is used often. */
  readonly #ofRef = new Map<number, string>();
  #names = 0;
  #lines: string[] = [];
  /** Stores of fixed width that wait for their claim. */
  #stores: ((view: string, at: string) => string)[] = [];
  #storeOffsets: number[] = [];
  #storeBytes = 0;

  constructor(typespace: Typespace) {
    this.#typespace = typespace;
  }

  /** Adds a function `(w, v, depth)` that writes a `type`; returns its name. */
  function(type: AlgebraicType, label: string, refName?: string): string {
    const outer = this.#lines;
    const name = refName ?? `write${label}`;
    this.#lines = [];
    this.#any(type, { value: 'v', path: '""', depth: 0 });
    this.#flush();
    this.functions.push(`function ${name}(w, v, depth) {\n${this.#lines.join('\n')}\n}`);
    this.#lines = outer;
    return name;
  }

  #any(type: AlgebraicType, place: Place): void {
    switch (type.kind) {
      case 'ref':
        this.#ref(type.ref, place);
        break;
      case 'product':
        this.#product(type, place);
        break;
      case 'sum':
        this.#sum(type, place);
        break;
      case 'array':
        this.#array(type.element, place);
        break;
      default:
        this.#scalar(type.kind, place, type.kind);
        break;
    }
  }

  #ref(ref: number, place: Place): void {
    const target = resolveType({ kind: 'ref', ref }, this.#typespace);
    this.#flush();
    let name = this.#ofRef.get(ref);
    if (name === undefined) {
      name = `writeRef${ref}`;
      this.#ofRef.set(ref, name);
      this.function(target, '', name);
    }
    this.#lines.push(
      `try { ${name}(w, ${place.value}, depth + ${place.depth}); }`,
      `catch (error) { throw inside(error, ${place.path}); }`,
    );
  }

  #product(type: Extract<AlgebraicType, { kind: 'product' }>, place: Place): void {
    const special = specialProductKindOf(type);
    if (special !== undefined) {
      const { name, kind } = specialElements[special];
      const inner = this.#name();
      const isObject = `typeof ${place.value} === "object" && ${place.value} !== null`;
      this.#lines.push(`const ${inner} = ${isObject} ? ${place.value}["${name}"] : void 0;`);
      const misfit = `fail(${place.path}, "${special}", ${place.value})`;
      this.#lines.push(`if (${doesNotFit(kind, inner)}) ${misfit};`);
      this.#store(scalarBytes[kind], (view, at) => storeText(kind, view, at, inner));
      return;
    }
    if (type.elements.length === 0) return;
    this.#checkDepth(place);
    this.#checkObject('product', place);
    for (const [index, element] of type.elements.entries()) {
      const value = this.#name();
      const property = JSON.stringify(nativeName(element, index));
      this.#lines.push(`const ${value} = ${place.value}[${property}];`);
      this.#any(element.type, inner(place, value, stepText(element, index)));
    }
  }

  #sum(type: Extract<AlgebraicType, { kind: 'sum' }>, place: Place): void {
    this.#checkDepth(place);
    switch (specialKindOf(type)) {
      case 'option':
        this.#option(type.variants, place);
        break;
      case 'result':
        this.#result(type.variants, place);
        break;
      default:
        this.#tagged(type.variants, place);
        break;
    }
  }

  #option(variants: readonly NamedType[], place: Place): void {
    const [some] = variants;
    this.#flush();
    this.#lines.push(`if (${place.value} === void 0 || ${place.value} === null) {`);
    this.#variant(1, undefined, place);
    this.#lines.push('} else {');
    this.#variant(0, some, { ...place, depth: place.depth + 1 });
    this.#lines.push('}');
  }

  #result(variants: readonly NamedType[], place: Place): void {
    this.#flush();
    this.#checkObject('result', place);
    for (const [tag, variant] of variants.entries()) {
      const name = JSON.stringify(variant.name);
      const payload = this.#name();
      this.#lines.push(`${tag === 0 ? '' : '} else '}if (${name} in ${place.value}) {`);
      this.#lines.push(`const ${payload} = ${place.value}[${name}];`);
      this.#variant(tag, variant, inner(place, payload, `.${variant.name}`));
    }
    this.#lines.push(`} else fail(${place.path}, "result", ${place.value});`);
  }

  #tagged(variants: readonly NamedType[], place: Place): void {
    const names = variants.map(nativeName);
    const failTag = `failTag(${place.path}, ${JSON.stringify(names)}, ${place.value}.tag);`;
    this.#checkObject('sum', place);
    if (variants.length > 0 && variants.every((variant) => isUnit(variant.type))) {
      // A plain enum is one byte of fixed width.
      const tag = this.#name();
      this.#lines.push(`let ${tag} = 0;`, `switch (${place.value}.tag) {`);
      for (const [index, name] of names.entries()) {
        this.#lines.push(`case ${JSON.stringify(name)}: ${tag} = ${index}; break;`);
      }
      this.#lines.push(`default: ${failTag}`, '}');
      this.#store(1, (view, at) => storeText('u8', view, at, tag));
      return;
    }
    this.#flush();
    this.#lines.push(`switch (${place.value}.tag) {`);
    for (const [tag, variant] of variants.entries()) {
      const payload = this.#name();
      this.#lines.push(`case ${JSON.stringify(names[tag])}: {`);
      if (!isUnit(variant.type)) this.#lines.push(`const ${payload} = ${place.value}.value;`);
      this.#variant(tag, variant, inner(place, payload, '.value'));
      this.#lines.push('break; }');
    }
    this.#lines.push(`default: ${failTag}`, '}');
  }

  /** The tag byte and the payload, in a block of their own. */
  #variant(tag: number, variant: NamedType | undefined, place: Place): void {
    this.#store(1, (view, at) => storeText('u8', view, at, String(tag)));
    if (variant !== undefined) this.#any(variant.type, place);
    this.#flush();
  }

  #array(element: AlgebraicType, place: Place): void {
    if (element.kind === 'u8') {
      this.#flush();
      const bytes = this.#name();
      this.#lines.push(
        `const ${bytes} = bytesOf(${place.value});`,
        `if (${bytes} === void 0) fail(${place.path}, "bytes", ${place.value});`,
        `w.bytes(${bytes});`,
      );
      return;
    }
    const [count, index, value] = [this.#name(), this.#name(), this.#name()];
    const isList = element.kind === 'f32' ? 'isFloats' : 'isArray';
    this.#checkDepth(place);
    this.#lines.push(
      `if (!${isList}(${place.value})) fail(${place.path}, "array", ${place.value});`,
      `const ${count} = ${place.value}.length;`,
    );
    if (fixedSizeOf(element, this.#typespace) === 0) {
      this.#lines.push(`checkEmptyElements(${place.path}, ${count});`);
    }
    this.#store(4, (view, at) => storeText('u32', view, at, count));
    this.#flush();
    this.#lines.push(
      `for (let ${index} = 0; ${index} < ${count}; ${index} += 1) {`,
      `const ${value} = ${place.value}[${index}];`,
    );
    const path = `${place.path} + "[" + ${index} + "]"`;
    this.#any(element, { value, path, depth: place.depth + 1 });
    this.#flush();
    this.#lines.push('}');
  }

  #scalar(kind: ScalarKind, place: Place, demand: string): void {
    const { value, path } = place;
    this.#lines.push(`if (${doesNotFit(kind, value)}) fail(${path}, "${demand}", ${value});`);
    if (kind === 'string') {
      this.#flush();
      this.#lines.push(`w.string(${value});`);
      return;
    }
    this.#store(scalarBytes[kind], (view, at) => storeText(kind, view, at, value));
  }

  #checkObject(demand: string, place: Place): void {
    const { value, path } = place;
    const isNone = `typeof ${value} !== "object" || ${value} === null`;
    this.#lines.push(`if (${isNone}) fail(${path}, "${demand}", ${value});`);
  }

  #checkDepth(place: Place): void {
    const reached = limits.nestingDepthMax - place.depth;
    this.#lines.push(`if (depth >= ${reached}) failDepth(${place.path});`);
  }

  #store(bytes: number, store: (view: string, at: string) => string): void {
    this.#stores.push(store);
    this.#storeOffsets.push(this.#storeBytes);
    this.#storeBytes += bytes;
  }

  /** Claims the bytes of the waiting stores and emits them. */
  #flush(): void {
    if (this.#stores.length === 0) return;
    const [at, view] = [this.#name(), this.#name()];
    this.#lines.push(`const ${at} = w.claim(${this.#storeBytes}), ${view} = w.dataView;`);
    for (const [index, store] of this.#stores.entries()) {
      this.#lines.push(store(view, `${at} + ${this.#storeOffsets[index]}`));
    }
    this.#stores = [];
    this.#storeOffsets = [];
    this.#storeBytes = 0;
  }

  #name(): string {
    this.#names += 1;
    return `v${this.#names}`;
  }
}

function inner(place: Place, value: string, step: string): Place {
  return { value, path: `${place.path} + ${JSON.stringify(step)}`, depth: place.depth + 1 };
}

function isUnit(type: AlgebraicType): boolean {
  return type.kind === 'product' && type.elements.length === 0;
}

/** The condition under which `value` is not a `kind`. */
function doesNotFit(kind: ScalarKind, value: string): string {
  switch (kind) {
    case 'string':
      return `typeof ${value} !== "string"`;
    case 'bool':
      return `typeof ${value} !== "boolean"`;
    case 'f32':
    case 'f64':
      return `typeof ${value} !== "number"`;
    case 'i8':
      return `typeof ${value} !== "number" || (${value} << 24) >> 24 !== ${value}`;
    case 'u8':
      return `typeof ${value} !== "number" || (${value} & 255) !== ${value}`;
    case 'i16':
      return `typeof ${value} !== "number" || (${value} << 16) >> 16 !== ${value}`;
    case 'u16':
      return `typeof ${value} !== "number" || (${value} & 65535) !== ${value}`;
    case 'i32':
      return `typeof ${value} !== "number" || (${value} | 0) !== ${value}`;
    case 'u32':
      return `typeof ${value} !== "number" || ${value} >>> 0 !== ${value}`;
    default:
      return doesNotFitWide(kind, value);
  }
}

function doesNotFitWide(kind: IntegerKind, value: string): string {
  const { min, max } = integerRange[kind];
  return `typeof ${value} !== "bigint" || ${value} < ${min}n || ${value} > ${max}n`;
}

function storeText(kind: Exclude<ScalarKind, 'string'>, view: string, at: string, value: string) {
  switch (kind) {
    case 'bool':
      return `${view}.setUint8(${at}, ${value} ? 1 : 0);`;
    case 'i8':
    case 'u8':
      return `${view}.setUint8(${at}, ${value});`;
    case 'i16':
    case 'u16':
      return `${view}.setUint16(${at}, ${value}, true);`;
    case 'i32':
    case 'u32':
      return `${view}.setUint32(${at}, ${value}, true);`;
    case 'i64':
    case 'u64':
      return `${view}.setBigUint64(${at}, ${value}, true);`;
    case 'i128':
    case 'u128':
      return `writeWide(${view}, ${at}, ${value}, 2);`;
    case 'i256':
    case 'u256':
      return `writeWide(${view}, ${at}, ${value}, 4);`;
    case 'f32':
      return `writeFloat32(${view}, ${at}, ${value});`;
    case 'f64':
      return `writeFloat64(${view}, ${at}, ${value});`;
  }
}
