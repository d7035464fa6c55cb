import { decodeValue } from '../values/decode.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import type { DraftColumn } from './migration-draft.ts';
import type { ModuleTypeTexts } from './module-type-text.ts';
import { keyText, quoted } from './names.ts';

/** The function of a step: the obvious one, or one that throws until somebody writes it. */
export interface DraftFunction {
  readonly text: string;
  /** True: it throws. */
  readonly isStub: boolean;
}

/** What existing rows get in a column that they did not have. */
export function fillFunction(
  { name, type, typespace, defaultBytes }: DraftColumn,
  table: string,
  types: ModuleTypeTexts,
): DraftFunction {
  const literal = defaultBytes === undefined ? undefined : literalOf(type, typespace, defaultBytes);
  if (literal !== undefined) return { text: `() => ${literal}`, isStub: false };
  const resolved = resolveType(type, typespace);
  if (specialKindOf(resolved) === 'option') return { text: '() => undefined', isStub: false };
  return stub(`${table}.${name}`, types.of(type, typespace));
}

interface UsingPlace {
  /** The table as it is called by then, and as it was called before the migration. */
  readonly table: string;
  readonly oldTable: string;
  readonly before: ModuleTypeTexts;
  readonly after: ModuleTypeTexts;
}

/** What becomes of the value that a row has in a column. */
export function usingFunction(
  from: DraftColumn,
  to: DraftColumn,
  { table, oldTable, before, after }: UsingPlace,
): DraftFunction {
  const key = keyText(from.name);
  const old = key === from.name ? `old.${key}` : `old[${key}]`;
  const value = conversion(old, from, to);
  // The type of a row follows from the name of its table, unless the table is renamed.
  const row = table === oldTable ? 'old' : `old: Before[${quoted(oldTable)}]`;
  if (value !== undefined) return { text: `(${row}) => ${value}`, isStub: false };
  const [was, is] = [before.of(from.type, from.typespace), after.of(to.type, to.typespace)];
  return stub(`${table}.${to.name}`, is, ` of ${old}, ${was}`);
}

function stub(column: string, type: string, source = ''): DraftFunction {
  const words = `return the value for ${column}${source} (${type})`;
  return { text: `() => {\n  throw new Error(${quoted(words)});\n}`, isStub: true };
}

/** The conversion that anyone would write, if there is one; what does not fit fails by its row. */
function conversion(old: string, from: DraftColumn, to: DraftColumn): string | undefined {
  const source = resolveType(from.type, from.typespace);
  const target = resolveType(to.type, to.typespace);
  const inner = optionOf(target);
  if (inner !== undefined && optionOf(source) === undefined) {
    return scalarConversion(old, source, resolveType(inner, to.typespace));
  }
  if (target.kind === 'array' && specialKindOf(target) !== 'bytes' && source.kind !== 'array') {
    const element = resolveType(target.element, to.typespace);
    const one = scalarConversion(old, source, element);
    return one === undefined ? undefined : `[${one}]`;
  }
  return scalarConversion(old, source, target);
}

function optionOf(type: AlgebraicType): AlgebraicType | undefined {
  if (specialKindOf(type) !== 'option' || type.kind !== 'sum') return undefined;
  return type.variants[0]?.type;
}

function scalarConversion(old: string, from: AlgebraicType, to: AlgebraicType): string | undefined {
  const [source, target] = [familyOf(from), familyOf(to)];
  if (source === undefined || target === undefined) return undefined;
  if (target === 'text') return source === 'text' ? old : `String(${old})`;
  if (source === target && !(source === 'float' && to.kind === 'f32')) return old;
  if (target === 'big') return source === 'float' ? undefined : `BigInt(${old})`;
  if (target === 'bool') return undefined;
  // A float that becomes a whole number has to be rounded in some way.
  if (source === 'float') return target === 'float' ? old : undefined;
  return source === 'small' ? old : `Number(${old})`;
}

type Family = 'bool' | 'text' | 'small' | 'big' | 'float';

function familyOf({ kind }: AlgebraicType): Family | undefined {
  if (kind === 'bool') return 'bool';
  if (kind === 'string') return 'text';
  if (kind === 'f32' || kind === 'f64') return 'float';
  if (/^[iu](64|128|256)$/.test(kind)) return 'big';
  return /^[iu](8|16|32)$/.test(kind) ? 'small' : undefined;
}

/** A default as a literal; `undefined` for values that have none. */
function literalOf(
  type: AlgebraicType,
  typespace: Typespace,
  bytes: Uint8Array,
): string | undefined {
  const resolved = resolveType(type, typespace);
  if (specialKindOf(resolved) === 'option') return bytes[0] === 1 ? 'undefined' : undefined;
  if (familyOf(resolved) === undefined) return undefined;
  const value = decodeValue(type, bytes, typespace);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return Number.isFinite(value) ? numberText(value) : undefined;
  return typeof value === 'boolean' ? String(value) : undefined;
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}
