import { present, unreachable } from '../../assert.ts';
import type { IndexSpec, TableSpec } from '../../schema/catalog.ts';
import { decodeValue } from '../../values/decode.ts';
import { skipperOf } from '../../values/layout.ts';
import { valueToText } from '../../values/text.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import type { TypedColumn } from '../check/typed.ts';
import type { Condition } from './condition.ts';
import type { Access, Plan, ReadPlan, Source } from './plan.ts';

/**
 * A plan as text, one step a line, what happens first at the top:
 *
 * ```
 * point message_id_idx_btree (id = 5)
 * filter text <> "x"
 * output id, text
 * limit 10
 * ```
 */
export function explain(plan: Plan, typespace: Typespace): string {
  return stepsOf(plan, typespace).join('\n');
}

function stepsOf(plan: Plan, typespace: Typespace): readonly string[] {
  switch (plan.kind) {
    case 'read': {
      const limit = plan.limit === undefined ? [] : [`limit ${plan.limit}`];
      return [...sourceSteps(plan.source, typespace), outputStep(plan), ...limit];
    }
    case 'insert':
      return [`insert ${plan.rows.length} into ${plan.table.name}`];
    case 'update': {
      const { table } = plan.source;
      const names = plan.assignments.map(({ column }) => columnName(table, column));
      return [...sourceSteps(plan.source, typespace), `update ${names.join(', ')}`];
    }
    case 'delete':
      return [...sourceSteps(plan.source, typespace), 'delete'];
    default:
      return unreachable(plan);
  }
}

function sourceSteps({ table, access, filter }: Source, typespace: Typespace): readonly string[] {
  const first = accessText(access, table, typespace);
  return filter === undefined ? [first] : [first, `filter ${conditionText(filter, typespace)}`];
}

function accessText(access: Access, table: TableSpec, typespace: Typespace): string {
  switch (access.kind) {
    case 'nothing':
      return 'nothing';
    case 'fullScan':
      return `scan ${table.name}`;
    case 'point': {
      const { index, key } = access;
      const texts = equalities(index, table, key, index.columns.length, typespace);
      return `point ${index.name} (${texts.join(', ')})`;
    }
    case 'range':
      return `range ${access.index.name} (${rangeTexts(access, table, typespace).join(', ')})`;
    default:
      return unreachable(access);
  }
}

function rangeTexts(
  { index, range }: Extract<Access, { kind: 'range' }>,
  table: TableSpec,
  typespace: Typespace,
): readonly string[] {
  const { bytes, prefixColumns, prefixLength, startLength } = range;
  const texts = equalities(index, table, bytes, prefixColumns, typespace);
  const column = present(index.columns[prefixColumns], 'the column of a range');
  const { type } = present(table.columns[column], 'a column of an index');
  const name = columnName(table, column);
  const bound = (at: number, operators: readonly [string, string]): readonly string[] => {
    const operator = operators[bytes[at] ?? 2];
    if (operator === undefined) return [];
    return [`${name} ${operator} ${valueText(type, bytes, at + 1, typespace)}`];
  };
  const start = bound(prefixLength, ['>=', '>']);
  const end = bound(prefixLength + startLength, ['<=', '<']);
  return [...texts, ...start, ...end];
}

function equalities(
  index: IndexSpec,
  table: TableSpec,
  key: Uint8Array,
  columnCount: number,
  typespace: Typespace,
): readonly string[] {
  let at = 0;
  return index.columns.slice(0, columnCount).map((column) => {
    const { type } = present(table.columns[column], 'a column of an index');
    const text = `${columnName(table, column)} = ${valueText(type, key, at, typespace)}`;
    at = skipperOf(type, typespace)(key, at);
    return text;
  });
}

function conditionText(condition: Condition, typespace: Typespace): string {
  switch (condition.kind) {
    case 'always':
      return condition.value ? 'TRUE' : 'FALSE';
    case 'columnToValue': {
      const { column, operator, bytes } = condition;
      return `${nameOf(column)} ${operator} ${valueText(column.spec.type, bytes, 0, typespace)}`;
    }
    case 'columnToColumn':
      return `${nameOf(condition.left)} ${condition.operator} ${nameOf(condition.right)}`;
    case 'conditions': {
      const left = conditionText(condition.left, typespace);
      const right = conditionText(condition.right, typespace);
      return `(${left}) ${condition.operator} (${right})`;
    }
    case 'and':
    case 'or': {
      const terms = condition.terms.map((term) => {
        const text = conditionText(term, typespace);
        return term.kind === 'and' || term.kind === 'or' ? `(${text})` : text;
      });
      return terms.join(condition.kind === 'and' ? ' AND ' : ' OR ');
    }
    default:
      return unreachable(condition);
  }
}

function outputStep({ output, source }: ReadPlan): string {
  switch (output.kind) {
    case 'row':
      return 'output *';
    case 'columns': {
      const names = output.columns.map((column) => columnName(source.table, column));
      return `output ${names.join(', ')}`;
    }
    case 'count':
      return 'count';
    default:
      return unreachable(output);
  }
}

function valueText(
  type: AlgebraicType,
  bytes: Uint8Array,
  at: number,
  typespace: Typespace,
): string {
  const value = decodeValue(type, bytes.subarray(at), typespace);
  return valueToText(type, value, typespace);
}

function nameOf(column: TypedColumn): string {
  return column.spec.name;
}

function columnName(table: TableSpec, column: number): string {
  return present(table.columns[column], 'a column of a plan').name;
}
