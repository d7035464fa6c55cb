import { specialKindOf } from '../../../src/values/special-types.ts';
import type { AlgebraicType, SumType } from '../../../src/values/type.ts';
import { typeText } from '../../../src/values/typespace.ts';
import { uuidToText } from '../../../src/values/uuid.ts';
import type { SumValue, Value } from '../../../src/values/value.ts';
import { Engine, type EngineAnswer, type EngineMode } from '../engine.ts';
import type { Answer, Cell } from './answer.ts';
import { type Kind, typeOf } from './kinds.ts';
import { type RandomSchema, sampleTableOf, storedValue } from './random-schema.ts';

/** Every way to answer a statement; all must agree. */
export const modes: readonly (EngineMode & { readonly name: string })[] = [
  { name: 'as usual', useIndexes: true, optimise: true, pauses: false },
  { name: 'without indexes', useIndexes: false, optimise: true, pauses: false },
  { name: 'as written', useIndexes: true, optimise: false, pauses: false },
  { name: 'as written, without indexes', useIndexes: false, optimise: false, pauses: false },
  { name: 'with pauses', useIndexes: true, optimise: true, pauses: true },
  { name: 'with shared statements', useIndexes: true, optimise: true, pauses: false, shares: true },
];

/** Our engine with the tables of a schema. */
export class Ours {
  readonly #engine: Engine;

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  static of(schema: RandomSchema, mode: EngineMode): Ours {
    const engine = new Engine(schema.map(sampleTableOf), mode);
    for (const { name, columns, rows } of schema) {
      const stored = rows.map((row) =>
        columns.map((column, at) => storedValue(column, row[at] ?? null)),
      );
      engine.load(name, stored);
    }
    return new Ours(engine);
  }

  /** Over an engine that has its rows. */
  static over(engine: Engine): Ours {
    return new Ours(engine);
  }

  /** Why there is no answer, if there is none. */
  refusal(sql: string): string | undefined {
    const answer = this.#ask(sql);
    return answer.kind === 'refused' ? answer.message : undefined;
  }

  /** A bug must not end the search for the smallest case that shows it. */
  #ask(sql: string): EngineAnswer {
    try {
      return this.#engine.run(sql);
    } catch (error) {
      return { kind: 'refused', message: crashText(error) };
    }
  }

  /** The answer in neutral form. Columns of another type than `kinds` says are an error. */
  run(sql: string, kinds: readonly Kind[]): Answer {
    const answer = this.#ask(sql);
    if (answer.kind === 'refused') {
      return { kind: 'refused', reason: reasonOf(answer.message), message: answer.message };
    }
    const { columns, rows, written } = answer;
    if (written !== undefined && columns.length === 0) {
      return { kind: 'rows', rows: [[BigInt(written)]] };
    }
    const message = wrongType(columns, kinds);
    if (message !== undefined) return { kind: 'refused', reason: 'other', message };
    return {
      kind: 'rows',
      rows: rows.map((row) => row.map((value, at) => cellOf(columns[at]?.type, value))),
    };
  }
}

function crashText(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `crashed: ${stack.split('\n').slice(0, 4).join(' ')}`;
}

function reasonOf(message: string): Extract<Answer, { kind: 'refused' }>['reason'] {
  if (message.startsWith('Division by zero')) return 'division';
  if (message.startsWith('Integer overflow')) return 'overflow';
  return message.startsWith('IndexError: Unique') ? 'unique' : 'other';
}

function wrongType(
  columns: readonly { readonly type: AlgebraicType }[],
  kinds: readonly Kind[],
): string | undefined {
  if (columns.length !== kinds.length) return `${columns.length} columns, not ${kinds.length}`;
  for (const [at, kind] of kinds.entries()) {
    const type = columns[at]?.type;
    const inner = type && (optionInner(type) ?? type);
    const expected = typeText(typeOf(kind));
    const actual = inner && typeText(inner);
    if (actual !== expected) return `column ${at + 1} has the type ${actual}, not ${expected}`;
  }
  return undefined;
}

function optionInner(type: AlgebraicType): AlgebraicType | undefined {
  return specialKindOf(type) === 'option' ? (type as SumType).variants[0]?.type : undefined;
}

function cellOf(type: AlgebraicType | undefined, value: Value): Cell {
  if (type === undefined) throw new Error('a value without a column');
  const inner = optionInner(type);
  if (inner !== undefined) {
    const { tag, value: held } = value as SumValue;
    return tag === 1 ? null : cellOf(inner, held);
  }
  switch (specialKindOf(type)) {
    case 'uuid':
      return uuidToText((value as readonly [bigint])[0]);
    case 'timestamp':
    case 'timeDuration':
      return (value as readonly [bigint])[0];
    case 'bytes':
      return Buffer.from(value as Uint8Array).toString('hex');
    default:
      if (type.kind === 'sum') return type.variants[(value as SumValue).tag]?.name ?? null;
      if (typeof value === 'number' && type.kind !== 'f32' && type.kind !== 'f64')
        return BigInt(value);
      return value as Cell;
  }
}
