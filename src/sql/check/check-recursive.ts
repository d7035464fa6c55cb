import { present } from '../../assert.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { isNumericType } from '../functions/value-kind.ts';
import type { CommonTable, QueryBody } from '../syntax/ast.ts';
import { coerceQuery, requireSettled } from './coerce-query.ts';
import { type CommonTableList, type Environment, equalTypes, mismatch, refuse } from './context.ts';
import { unwrapped } from './field.ts';
import type { OutputColumn, TypedQuery } from './typed.ts';
import { queryOf } from './typed-expression.ts';

type CheckBody = (body: QueryBody, environment: Environment) => TypedQuery;

/**
 * A common table that names itself: `base UNION [ALL] step`, where the step reads the rows that the
 * step before it has made. Returns `undefined` if it does not name itself.
 */
export function checkRecursive(
  table: CommonTable,
  environment: Environment,
  checkBody: CheckBody,
): TypedQuery | undefined {
  const { body, commonTables, orderBy, limit, offset } = table.query;
  const isPlain = commonTables.length === 0 && orderBy.length === 0 && !limit && !offset;
  if (!isPlain || body.kind !== 'setOperation' || body.operator !== 'union') return undefined;
  const base = requireSettled(checkBody(body.left, environment), environment);
  const slot = environment.statement.newSlot();
  let { columns } = base;
  // What a step can make null is null for the next one too: at most one more look a column.
  for (;;) {
    const checked = checkStep(
      table,
      { body: body.right, base, slot, columns },
      environment,
      checkBody,
    );
    if (checked === undefined) return undefined;
    const nullable = columns.map((column, at): OutputColumn => {
      const isNullable = column.isNullable || checked.columns[at]?.isNullable === true;
      return { ...column, isNullable };
    });
    const isStable = nullable.every(({ isNullable }, at) => isNullable === columns[at]?.isNullable);
    columns = nullable;
    if (!isStable) continue;
    const { isAll } = body;
    return queryOf({ kind: 'recursive', slot, base, step: checked, isAll }, columns);
  }
}

interface Step {
  readonly body: QueryBody;
  readonly base: TypedQuery;
  readonly slot: number;
  readonly columns: readonly OutputColumn[];
}

function checkStep(
  { name, columns: names = [], span }: CommonTable,
  { body, base, slot, columns }: Step,
  environment: Environment,
  checkBody: CheckBody,
): TypedQuery | undefined {
  const query = queryOf({ kind: 'working', slot }, columns);
  let uses = 0;
  const own: CommonTableList = {
    name,
    table: () => {
      uses++;
      return { query, columns: names, commonTable: undefined };
    },
    outer: environment.commonTables,
  };
  const inside: Environment = { ...environment, commonTables: own };
  const step = checkBody(body, inside);
  if (uses === 0) return undefined;
  if (uses > 1) {
    const message = `The recursive part of \`${name}\` reads \`${name}\` more than once`;
    throw refuse(message, span, environment);
  }
  if (step.columns.length !== columns.length) {
    const message =
      `The two parts of \`${name}\` have different numbers of columns: ` +
      `${columns.length} and ${step.columns.length}`;
    throw refuse(message, body.span, environment);
  }
  const types = base.columns.map(({ type }) => type);
  requireAlike(step, types, body, inside);
  return coerceQuery(step, types, inside);
}

/** Columns have the types of the base; numbers are converted, literals read as them. */
function requireAlike(
  step: TypedQuery,
  types: readonly AlgebraicType[],
  body: QueryBody,
  environment: Environment,
): void {
  const items = step.body.kind === 'block' ? step.body.items : [];
  for (const [at, { type }] of step.columns.entries()) {
    const wanted = present(types[at], 'a column of the base');
    const item = items[at];
    if (item !== undefined && environment.statement.openItems.has(item)) continue;
    const plain = item === undefined ? type : unwrapped(item, environment).type;
    const isAlike = equalTypes(type, wanted, environment) || equalTypes(plain, wanted, environment);
    if (isAlike || (isNumericType(plain) && isNumericType(wanted))) continue;
    throw mismatch(type, wanted, body.span, environment);
  }
}
