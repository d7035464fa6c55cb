/**
 * Source of native decoders: one claim for everything of fixed width up to the next string, array
 * or branch, then the loads into locals, and at the end one object literal, so that all rows of a
 * table share one hidden class:
 *
 * ```js
 * const o1 = claimRun(r, 5, run1);
 * const v2 = d.getUint32(o1, true);
 * const v3 = d.getUint8(o1 + 4);
 * return { "id": v2, "level": v3 };
 * ```
 */
import { limits } from '../limits.ts';
import { fixedSizeOf, scalarBytes } from './layout.ts';
import { nativeName } from './native-check.ts';
import { specialElements, specialKindOf, specialProductKindOf } from './special-types.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

/** The body of a function of `h` (helpers) that returns the decoder. */
export function decoderSource(type: AlgebraicType, typespace: Typespace): string {
  const source = new DecoderSource(typespace);
  const root = source.function(type, 'read');
  return [
    '"use strict";',
    'const { identity, connectionId, timestamp, timeDuration, uuid } = h;',
    'const { claimRun, invalidBool, readI128, readI256, readU128, readU256 } = h;',
    'const { tooDeep, unknownTag } = h;',
    ...source.constants,
    ...source.functions,
    `return function (r) { r.beginValue(); return ${root}(r, 0); };`,
  ].join('\n');
}

class DecoderSource {
  readonly functions: string[] = [];
  readonly constants: string[] = [];
  readonly #typespace: Typespace;
  readonly #ofRef = new Map<number, string>();
  #names = 0;
  #lines: string[] = [];
  /** Loads of fixed width that wait for their claim. */
  #loads: { readonly kind: Exclude<ScalarKind, 'string'>; readonly name: string }[] = [];

  constructor(typespace: Typespace) {
    this.#typespace = typespace;
  }

  /** Adds a function `(r, depth)` that reads a `type`; returns its name. */
  function(type: AlgebraicType, name: string): string {
    const outer = this.#lines;
    this.#lines = ['const d = r.dataView;'];
    const value = this.#any(type, 0);
    this.#flush();
    this.#lines.push(`return ${value};`);
    this.functions.push(`function ${name}(r, depth) {\n${this.#lines.join('\n')}\n}`);
    this.#lines = outer;
    return name;
  }

  /** Emits code that reads a value and returns its expression, valid after the next flush. */
  #any(type: AlgebraicType, depth: number): string {
    switch (type.kind) {
      case 'ref':
        return this.#ref(type.ref, depth);
      case 'product':
        return this.#product(type, depth);
      case 'sum':
        return this.#sum(type, depth);
      case 'array':
        return this.#array(type.element, depth);
      case 'string':
        return this.#call('r.string()');
      default:
        return this.#load(type.kind);
    }
  }

  #ref(ref: number, depth: number): string {
    const target = resolveType({ kind: 'ref', ref }, this.#typespace);
    this.#flush();
    let name = this.#ofRef.get(ref);
    if (name === undefined) {
      name = `readRef${ref}`;
      this.#ofRef.set(ref, name);
      this.function(target, name);
    }
    return this.#call(`${name}(r, depth + ${depth})`);
  }

  #product(type: Extract<AlgebraicType, { kind: 'product' }>, depth: number): string {
    const special = specialProductKindOf(type);
    if (special !== undefined)
      return `new ${special}(${this.#load(specialElements[special].kind)})`;
    if (type.elements.length === 0) return '{}';
    this.#checkDepth(depth);
    const fields = type.elements.map((element, index) => {
      const key = JSON.stringify(nativeName(element, index));
      // Computed, because a plain "__proto__" in a literal would set the prototype.
      return `${key === '"__proto__"' ? `[${key}]` : key}: ${this.#any(element.type, depth + 1)}`;
    });
    return `{ ${fields.join(', ')} }`;
  }

  #sum(type: Extract<AlgebraicType, { kind: 'sum' }>, depth: number): string {
    this.#checkDepth(depth);
    const special = specialKindOf(type);
    const { variants } = type;
    const isPlain = special === undefined && variants.length > 0;
    if (isPlain && variants.every(isUnitVariant)) {
      return this.#plainEnum(variants);
    }
    const tag = this.#load('u8');
    this.#flush();
    const result = this.#name();
    this.#lines.push(`let ${result};`, `switch (${tag}) {`);
    for (const [index, variant] of variants.entries()) {
      this.#lines.push(`case ${index}: {`);
      const payload = this.#any(variant.type, depth + 1);
      this.#flush();
      this.#lines.push(`${result} = ${variantText(special, variant, index, payload)};`, 'break; }');
    }
    this.#lines.push(`default: throw unknownTag(${tag});`, '}');
    return result;
  }

  /** An enum without payloads is a byte of fixed width and a table of names. */
  #plainEnum(variants: readonly NamedType[]): string {
    const names = this.#constant(JSON.stringify(variants.map(nativeName)));
    const tag = this.#load('u8', variants.length);
    return `{ "tag": ${names}[${tag}], "value": {} }`;
  }

  #array(element: AlgebraicType, depth: number): string {
    if (element.kind === 'u8') return this.#call('r.bytes()');
    this.#checkDepth(depth);
    const isEmpty = fixedSizeOf(element, this.#typespace) === 0;
    const result = this.#name();
    this.#flush();
    this.#lines.push(
      `const ${result} = [];`,
      `for (let left = r.count(${isEmpty}); left > 0; left -= 1) {`,
    );
    const value = this.#any(element, depth + 1);
    this.#flush();
    this.#lines.push(`${result}.push(${value});`, '}');
    return result;
  }

  #call(expression: string): string {
    this.#flush();
    const name = this.#name();
    this.#lines.push(`const ${name} = ${expression};`);
    return name;
  }

  #checkDepth(depth: number): void {
    this.#lines.push(`if (depth >= ${limits.nestingDepthMax - depth}) throw tooDeep();`);
  }

  /** `tagCount`: the load is the tag of a sum with that many variants. */
  #load(kind: Exclude<ScalarKind, 'string'>, tagCount?: number): string {
    const name = this.#name();
    this.#loads.push({ kind, name });
    if (tagCount !== undefined && tagCount < 256) this.#tagChecks.push({ name, tagCount });
    return name;
  }

  #tagChecks: { readonly name: string; readonly tagCount: number }[] = [];

  #flush(): void {
    if (this.#loads.length === 0) return;
    const at = this.#name();
    const widths = this.#loads.map(({ kind }) => [kind, scalarBytes[kind]] as const);
    const total = widths.reduce((sum, [, bytes]) => sum + bytes, 0);
    const run = this.#constant(JSON.stringify(widths));
    this.#lines.push(`const ${at} = claimRun(r, ${total}, ${run});`);
    let offset = 0;
    for (const { kind, name } of this.#loads) {
      this.#lines.push(loadText(kind, name, `${at} + ${offset}`));
      offset += scalarBytes[kind];
    }
    for (const { name, tagCount } of this.#tagChecks) {
      this.#lines.push(`if (${name} >= ${tagCount}) throw unknownTag(${name});`);
    }
    this.#loads = [];
    this.#tagChecks = [];
  }

  #constant(value: string): string {
    const name = `c${this.constants.length}`;
    this.constants.push(`const ${name} = ${value};`);
    return name;
  }

  #name(): string {
    this.#names += 1;
    return `v${this.#names}`;
  }
}

function isUnitVariant(variant: NamedType): boolean {
  return variant.type.kind === 'product' && variant.type.elements.length === 0;
}

function variantText(
  special: ReturnType<typeof specialKindOf>,
  variant: NamedType,
  tag: number,
  payload: string,
): string {
  if (special === 'option') return tag === 0 ? payload : 'void 0';
  if (special === 'result') return `{ ${JSON.stringify(variant.name)}: ${payload} }`;
  return `{ "tag": ${JSON.stringify(nativeName(variant, tag))}, "value": ${payload} }`;
}

function loadText(kind: Exclude<ScalarKind, 'string'>, name: string, at: string): string {
  switch (kind) {
    case 'bool': {
      const byte = `${name}b`;
      return (
        `const ${byte} = d.getUint8(${at}); if (${byte} > 1) throw invalidBool(${byte}); ` +
        `const ${name} = ${byte} === 1;`
      );
    }
    case 'i8':
      return `const ${name} = d.getInt8(${at});`;
    case 'u8':
      return `const ${name} = d.getUint8(${at});`;
    case 'i16':
      return `const ${name} = d.getInt16(${at}, true);`;
    case 'u16':
      return `const ${name} = d.getUint16(${at}, true);`;
    case 'i32':
      return `const ${name} = d.getInt32(${at}, true);`;
    case 'u32':
      return `const ${name} = d.getUint32(${at}, true);`;
    case 'i64':
      return `const ${name} = d.getBigInt64(${at}, true);`;
    case 'u64':
      return `const ${name} = d.getBigUint64(${at}, true);`;
    case 'i128':
      return `const ${name} = readI128(d, ${at});`;
    case 'u128':
      return `const ${name} = readU128(d, ${at});`;
    case 'i256':
      return `const ${name} = readI256(d, ${at});`;
    case 'u256':
      return `const ${name} = readU256(d, ${at});`;
    case 'f32':
      return `const ${name} = d.getFloat32(${at}, true);`;
    case 'f64':
      return `const ${name} = d.getFloat64(${at}, true);`;
  }
}
