import { present, unreachable } from '../../assert.ts';
import { identityToHex } from '../../values/identity.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { Typespace } from '../../values/type.ts';
import type { TypedExpression } from '../check/typed.ts';
import { expressionText, type TextScope } from './expression-text.ts';
import type { Measurements } from './measurements.ts';
import { metricOf, rowsMin } from './nearest-access.ts';
import type {
  Access,
  InsertPlan,
  PassedIndex,
  Plan,
  RowsPlan,
  SourcePlan,
  SubqueryPlan,
  TuplesPlan,
} from './plan.ts';
import { operandsOf } from './search-access.ts';

export interface ExplainOptions {
  readonly types: Typespace;
  /** Measurements of the steps, for EXPLAIN ANALYZE. */
  readonly measurements?: Measurements;
  /**
   * True for callers from whom row-level security hides rows: no number may reveal anything about
   * rows that they do not see.
   */
  readonly hidesNumbers: boolean;
  /** Shown instead of `:sender`. */
  readonly sender?: CallerIdentity;
}

/**
 * Writes a plan as text: one step a line, its inputs below it and indented further.
 *
 * ```
 * limit 10
 *   output id, text
 *     join by index
 *       scan room: room.open = true (about 3 rows)
 *       look up message by message_room_idx_btree (room = room.id) (about 20 rows)
 * ```
 */
export function explainPlan(plan: Plan, options: ExplainOptions): readonly string[] {
  const explainer = new Explainer(plan, options);
  switch (plan.kind) {
    case 'read':
      explainer.rows(plan.rows, 0);
      break;
    case 'insert':
      explainer.line(0, `insert into ${plan.table.name}${conflictText(plan.conflict)}`);
      if (plan.source.kind === 'query') explainer.rows(plan.source.rows, 1);
      else explainer.line(1, `${plan.source.rows.length} rows of values`);
      break;
    case 'update': {
      const names = plan.assignments.map(
        ({ column }) => present(plan.table.columns[column], 'an assigned column').name,
      );
      explainer.line(0, `update ${plan.table.name}: ${names.join(', ')}`);
      explainer.tuples(plan.input, 1);
      break;
    }
    case 'delete':
      explainer.line(0, `delete from ${plan.table.name}`);
      explainer.tuples(plan.input, 1);
      break;
    default:
      unreachable(plan);
  }
  explainer.shared();
  return explainer.lines;
}

function conflictText(conflict: InsertPlan['conflict']): string {
  if (conflict === undefined) return '';
  const names = conflict.indexes.map(({ name }) => name).join(', ');
  return `, on a conflict in ${names} ${conflict.update === undefined ? 'nothing' : 'update'}`;
}

class Explainer {
  readonly lines: string[] = [];
  readonly #plan: Plan;
  readonly #options: ExplainOptions;
  readonly #scope: TextScope;
  readonly #names = new Map<number, string>();
  /** Nesting depth in stand-ins of filtered tables. */
  #secretDepth = 0;
  /** Whether any step hid its numbers altogether. */
  #hasSecret = false;

  constructor(plan: Plan, options: ExplainOptions) {
    this.#plan = plan;
    this.#options = options;
    // Slots of queries that were flattened are never filled.
    plan.slots.forEach((slotPlan, slot) => {
      if (slotPlan.kind === 'table') this.#names.set(slot, slotPlan.table.name);
    });
    this.#scope = {
      types: options.types,
      nameOf: (slot) => this.#names.get(slot) ?? `relation ${slot}`,
      parameterName: (at) => {
        const name = plan.parameters[at]?.name;
        if (name !== undefined) return `$${name}`;
        return options.sender === undefined ? ':sender' : `0x${identityToHex(options.sender)}`;
      },
    };
  }

  line(depth: number, text: string): void {
    this.lines.push(`${'  '.repeat(depth)}${text}`);
  }

  /** Shows common tables and subqueries, each once. */
  shared(): void {
    // How often a subquery is evaluated would reveal what one step hides.
    this.#secretDepth += this.#hasSecret ? 1 : 0;
    for (const [number, rows] of this.#plan.commonTables) {
      this.line(0, `common table ${number + 1}`);
      this.rows(rows, 1);
    }
    for (const [subquery, plan] of this.#plan.subqueries) {
      this.line(0, `subquery, ${howOften(plan)}: ${this.#text(subquery)}`);
      this.rows(plan.rows, 1);
    }
  }

  rows(plan: RowsPlan, depth: number): void {
    const inside = this.#namesIn(plan);
    switch (plan.kind) {
      case 'project': {
        this.#collectNames(plan.input);
        const items = plan.wholeSlot === undefined ? this.#texts(plan.items) : '*';
        this.line(depth, `output ${items}${this.#numbers(plan, inside)}`);
        this.tuples(plan.input, depth + 1);
        return;
      }
      case 'sort': {
        this.#collectNames(plan.input);
        const keys = plan.keys.map(({ expression, isDescending }) => {
          return `${this.#text(expression)}${isDescending ? ' DESC' : ''}`;
        });
        const how = plan.top === undefined ? 'sort' : 'sort, the first rows only';
        this.line(depth, `${how}: ${keys.join(', ')}${this.#numbers(plan, inside)}`);
        this.line(depth + 1, `output ${this.#texts(plan.items)}`);
        this.tuples(plan.input, depth + 2);
        return;
      }
      case 'recursive':
        this.line(depth, `recursive${plan.isAll ? ' all' : ''}${this.#numbers(plan, inside)}`);
        this.rows(plan.base, depth + 1);
        this.rows(plan.step, depth + 1);
        return;
      case 'working':
        this.line(depth, `rows of the step before${this.#numbers(plan, inside)}`);
        return;
      case 'elements':
        this.line(depth, `elements of ${this.#text(plan.array)}${this.#numbers(plan, inside)}`);
        return;
      case 'window': {
        const names = plan.calls.map(({ function: made }) => {
          return made.name === 'aggregate' ? made.aggregate.name : made.name;
        });
        this.line(depth, `window ${names.join(', ')}${this.#numbers(plan, inside)}`);
        this.rows(plan.input, depth + 1);
        return;
      }
      case 'distinct':
        this.line(depth, `distinct${this.#numbers(plan, inside)}`);
        this.rows(plan.input, depth + 1);
        return;
      case 'set': {
        const all = plan.isAll ? ' all' : '';
        this.line(depth, `${plan.operator}${all}${this.#numbers(plan, inside)}`);
        this.rows(plan.left, depth + 1);
        this.rows(plan.right, depth + 1);
        return;
      }
      case 'limit': {
        const limit = plan.limit === undefined ? [] : [`limit ${this.#text(plan.limit)}`];
        const offset = plan.offset === undefined ? [] : [`offset ${this.#text(plan.offset)}`];
        const bounds = [...limit, ...offset].join(' ');
        this.line(depth, `${bounds}${this.#numbers(plan, inside)}`);
        this.rows(plan.input, depth + 1);
        return;
      }
      case 'count':
        this.line(depth, `count of ${plan.table.name}${this.#numbers(plan, inside)}`);
        return;
      default:
        unreachable(plan);
    }
  }

  tuples(plan: TuplesPlan, depth: number): void {
    const secrecy = secrecyOf(plan);
    // How often one side of such a join is opened reveals the number of rows of the other.
    const isSecret = secrecy === 'all';
    if (isSecret) this.#secretDepth++;
    this.#hasSecret ||= isSecret;
    this.#step(plan, depth, secrecy);
    if (isSecret) this.#secretDepth--;
  }

  #step(plan: TuplesPlan, depth: number, secrecy: SourcePlan['secrecy']): void {
    this.#collectNames(plan);
    const numbers = this.#numbers(plan, secrecy);
    switch (plan.kind) {
      case 'one':
        this.line(depth, 'one row');
        return;
      case 'nothing':
        this.line(depth, 'nothing');
        return;
      case 'source':
        this.#source(plan, depth);
        return;
      case 'loop': {
        const kind = plan.isLeft ? 'left join' : 'join';
        const isIndexed = plan.inner.from.kind === 'table';
        const how = plan.isInnerKept ? 'in loops' : isIndexed ? 'by index' : 'for each row';
        this.line(depth, `${kind} ${how}${this.#where(plan.conditions)}${numbers}`);
        this.tuples(plan.outer, depth + 1);
        this.tuples(plan.inner, depth + 1);
        return;
      }
      case 'hash': {
        const kind = plan.isLeft ? 'left join' : 'join';
        const keys = plan.outerKeys.map((key, at) => {
          const inner = present(plan.innerKeys[at], 'the other side of a key');
          return `${this.#text(key)} = ${this.#text(inner)}`;
        });
        const on = keys.join(' AND ');
        const rest = this.#where(plan.conditions);
        this.line(depth, `${kind} by hash on ${on}${rest}${numbers}`);
        this.tuples(plan.outer, depth + 1);
        this.tuples(plan.inner, depth + 1);
        return;
      }
      case 'filter':
        this.line(depth, `filter${this.#where(plan.conditions)}${numbers}`);
        this.tuples(plan.input, depth + 1);
        return;
      case 'first':
        this.line(depth, `first row${numbers}`);
        this.tuples(plan.input, depth + 1);
        return;
      case 'aggregate': {
        const { keys, aggregates } = plan.grouping;
        const names = aggregates.map(({ function: { name } }) => name).join(', ');
        const by = keys.length === 0 ? '' : ` by ${this.#texts(keys)}`;
        this.line(depth, `aggregate ${names}${by}${numbers}`);
        this.tuples(plan.input, depth + 1);
        return;
      }
      default:
        unreachable(plan);
    }
  }

  #source(plan: SourcePlan, depth: number): void {
    const { from, name, access, conditions } = plan;
    const numbers = this.#numbers(plan, plan.secrecy);
    const rest = `${this.#where(conditions)}${numbers}`;
    switch (from.kind) {
      case 'table': {
        const alias = from.table.name === name ? name : `${from.table.name} as ${name}`;
        this.line(depth, `${this.#access(access, alias)}${rest}`);
        return;
      }
      case 'rows':
        this.line(depth, `rows of ${name}${rest}`);
        // Inside, rows are counted before all filters have been applied.
        if (plan.secrecy !== 'none') this.#secretDepth++;
        this.rows(from.rows, depth + 1);
        if (plan.secrecy !== 'none') this.#secretDepth--;
        return;
      case 'common':
        this.line(depth, `rows of ${name}, common table ${from.number + 1}${rest}`);
        return;
      default:
        unreachable(from);
    }
  }

  #access(access: Access, name: string): string {
    switch (access.kind) {
      case 'scan':
        return `scan ${name}${this.#passed(access.passed)}`;
      case 'point':
        return `look up ${name} by ${access.index.name} (${this.#texts(access.keys)})`;
      case 'points': {
        const keys = access.keys.map((key) => this.#texts(key)).join('; ');
        return `look up ${name} by ${access.index.name} (${keys})`;
      }
      case 'among':
        return `look up ${name} by ${access.index.name} (answers of a subquery)`;
      case 'nearest':
        return `nearest of ${name} by ${access.index.name} (${this.#text(access.wanted)})`;
      case 'search': {
        const words = operandsOf(access.search).map((one) => this.#text(one));
        return `search ${name} by ${access.index.name} (${words.join(', ')})`;
      }
      case 'range': {
        const texts = access.conditions.map((term) => this.#text(term));
        const bounds = texts.length === 0 ? 'all' : texts.join(' AND ');
        const order = access.isDescending ? ', descending' : '';
        return `range of ${name} by ${access.index.name} (${bounds}${order})`;
      }
      default:
        return unreachable(access);
    }
  }

  /** Why an index of vectors does not serve a search for the nearest. */
  #passed(passed: PassedIndex | undefined): string {
    if (passed === undefined) return '';
    const { index, reason } = passed;
    if (reason === 'metric') return `, not by ${index.name}: its metric is ${metricOf(index)}`;
    if (this.#options.hidesNumbers) return '';
    return `, not by ${index.name}: the table has fewer than ${rowsMin} rows`;
  }

  #where(conditions: readonly TypedExpression[]): string {
    if (conditions.length === 0) return '';
    return `: ${conditions.map((term) => this.#text(term)).join(' AND ')}`;
  }

  /** Estimate and measurements, unless they are secret. */
  #numbers(plan: RowsPlan | TuplesPlan, secrecy: SourcePlan['secrecy']): string {
    const { hidesNumbers, measurements } = this.#options;
    if (hidesNumbers && this.#secretDepth > 0) return '';
    const parts: string[] = [];
    if (!hidesNumbers || secrecy === 'none')
      parts.push(`about ${roundText(plan.estimate.rows)} rows`);
    if (measurements !== undefined && (!hidesNumbers || secrecy !== 'all')) {
      const { rows, loops, millis } = measurements.of(plan);
      parts.push(`really ${rows} rows in ${loops} loops, ${millis.toFixed(3)} ms`);
    }
    return parts.length === 0 ? '' : ` (${parts.join('; ')})`;
  }

  /** The answer of a block is not secret, but its estimate is made from secrets. */
  #namesIn(plan: RowsPlan): SourcePlan['secrecy'] {
    return secrecyOfRows(plan) === 'none' ? 'none' : 'rows';
  }

  #collectNames(plan: TuplesPlan): void {
    switch (plan.kind) {
      case 'source':
        this.#names.set(plan.slot, plan.name);
        return;
      case 'loop':
      case 'hash':
        this.#collectNames(plan.outer);
        this.#collectNames(plan.inner);
        return;
      case 'filter':
      case 'first':
      case 'aggregate':
        this.#collectNames(plan.input);
        return;
      default:
    }
  }

  #text(e: TypedExpression): string {
    return expressionText(e, this.#scope);
  }

  #texts(list: readonly TypedExpression[]): string {
    return list.map((e) => this.#text(e)).join(', ');
  }
}

function howOften(plan: SubqueryPlan): string {
  switch (plan.kind) {
    case 'once':
      return 'asked once';
    case 'each':
      return 'asked for each row';
    case 'keyed':
      return plan.rest.length > 0 ? 'rows collected once by key' : 'keys collected once';
    case 'grouped':
      return 'groups collected once';
    default:
      return unreachable(plan);
  }
}

/** The strictest secrecy of the relations of a join. */
function secrecyOf(plan: TuplesPlan): SourcePlan['secrecy'] {
  switch (plan.kind) {
    case 'one':
    case 'nothing':
      return 'none';
    case 'source':
      return plan.from.kind === 'rows' && plan.secrecy === 'none'
        ? afterRows(secrecyOfRows(plan.from.rows))
        : plan.secrecy;
    case 'loop':
    case 'hash':
      return stricter(secrecyOf(plan.outer), secrecyOf(plan.inner));
    case 'filter':
    case 'first':
      return secrecyOf(plan.input);
    case 'aggregate':
      return afterRows(secrecyOf(plan.input));
    default:
      return unreachable(plan);
  }
}

function secrecyOfRows(plan: RowsPlan): SourcePlan['secrecy'] {
  let secrecy: SourcePlan['secrecy'] = 'none';
  const look = (inner: SourcePlan['secrecy']): void => {
    secrecy = stricter(secrecy, inner);
  };
  switch (plan.kind) {
    case 'project':
    case 'sort':
      look(secrecyOf(plan.input));
      break;
    case 'distinct':
    case 'window':
    case 'limit':
      look(secrecyOfRows(plan.input));
      break;
    case 'set':
      look(secrecyOfRows(plan.left));
      look(secrecyOfRows(plan.right));
      break;
    case 'recursive':
      look(secrecyOfRows(plan.base));
      look(secrecyOfRows(plan.step));
      break;
    case 'count':
    case 'working':
    case 'elements':
      break;
    default:
      unreachable(plan);
  }
  return secrecy;
}

/** After all conditions, only what the caller may see is left. */
function afterRows(secrecy: SourcePlan['secrecy']): SourcePlan['secrecy'] {
  return secrecy === 'none' ? 'none' : 'rows';
}

function stricter(a: SourcePlan['secrecy'], b: SourcePlan['secrecy']): SourcePlan['secrecy'] {
  if (a === 'all' || b === 'all') return 'all';
  return a === 'rows' || b === 'rows' ? 'rows' : 'none';
}

function roundText(rows: number): string {
  if (!Number.isFinite(rows)) return 'all';
  return rows < 10 ? String(Math.ceil(rows)) : String(Math.round(rows));
}
