import { limits } from '../limits.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { ProductType } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import {
  type Delivery,
  defaultSchedulePolicy,
  type RetryPolicy,
  type ScheduleDefinition,
  type SchedulePolicy,
  type TableDefinition,
} from './definition.ts';
import { generatedScheduleName } from './names.ts';
import type { RawSchedule } from './raw-module.ts';
import { checkPolicy } from './schedule-policies.ts';
import { canonicalFunctionName, followRefs, type Scope } from './scope.ts';

/** Schedules by the source name of their table. */
export function validateSchedules(
  scope: Scope,
  tables: readonly TableDefinition[],
): Map<string, ScheduleDefinition> {
  const { raw, problems } = scope;
  const schedules = new Map<string, ScheduleDefinition>();
  const valid = new Map(tables.map((table) => [table.sourceName, table]));
  const declared = new Set(raw.tables.map(({ sourceName }) => sourceName));
  const reducers = targetsByName('reducer', raw.reducers);
  const procedures = targetsByName('procedure', raw.procedures);
  const policies = policiesByFunction(scope);
  const deliveries = deliveriesByFunction(scope, new Set(procedures.keys()));
  for (const schedule of raw.schedules) {
    const { tableName, functionName } = schedule;
    const table = valid.get(tableName);
    if (table === undefined) {
      // A table that exists but was rejected has its own message.
      if (!declared.has(tableName)) problems.report(`Table ${tableName} not found`);
    } else if (schedules.has(tableName)) {
      problems.report(`table ${table.name} is assigned in multiple schedules`);
    } else {
      const target = reducers.get(functionName) ?? procedures.get(functionName);
      const declared = policies.get(functionName) ?? defaultSchedulePolicy;
      const rules = rulesOf(scope, functionName, target, {
        policy: declared,
        delivery: deliveries.get(functionName),
      });
      schedules.set(tableName, validateSchedule(scope, schedule, table, { target, ...rules }));
    }
  }
  return schedules;
}

/** Declared policies by the source name of their function, which some schedule runs. */
function policiesByFunction({ raw, problems }: Scope): Map<string, SchedulePolicy> {
  const scheduled = new Set(raw.schedules.map(({ functionName }) => functionName));
  const policies = new Map<string, SchedulePolicy>();
  for (const { functionName, policy } of raw.schedulePolicies) {
    if (!scheduled.has(functionName)) {
      problems.report(
        `function ${functionName} has options of a schedule, but no schedule runs it`,
      );
    }
    if (policies.has(functionName)) {
      problems.report(`function ${functionName} has options of a schedule more than once`);
    }
    checkPolicy(problems, functionName, policy);
    policies.set(functionName, policy);
  }
  return policies;
}

/** Declared deliveries by the source name of their procedure, which some schedule runs. */
function deliveriesByFunction(
  { raw, problems }: Scope,
  procedures: ReadonlySet<string>,
): Map<string, Delivery> {
  const scheduled = new Set(raw.schedules.map(({ functionName }) => functionName));
  const deliveries = new Map<string, Delivery>();
  for (const { functionName, delivery } of raw.scheduleDeliveries) {
    const text = `function ${functionName} has a delivery`;
    if (!scheduled.has(functionName)) problems.report(`${text}, but no schedule runs it`);
    else if (!procedures.has(functionName)) problems.report(`${text}, but is not a procedure`);
    if (deliveries.has(functionName)) problems.report(`${text} more than once`);
    deliveries.set(functionName, delivery);
  }
  return deliveries;
}

/** What holds for the runs of a schedule, once what was not declared is filled in. */
interface Rules {
  readonly policy: SchedulePolicy;
  readonly delivery: Delivery | undefined;
}

function rulesOf(
  { problems }: Scope,
  functionName: string,
  target: Target | undefined,
  { policy, delivery = 'atMostOnce' }: Rules,
): Rules {
  if (target?.kind !== 'procedure') return { policy, delivery: undefined };
  if (delivery === 'atLeastOnce') {
    return { policy: { ...policy, retry: policy.retry ?? defaultDeliveryRetry }, delivery };
  }
  if (policy.retry !== undefined) {
    const text = "a run is repeated only with `delivery: 'atLeastOnce'`";
    problems.report(`procedure ${functionName} has \`retry\`, but runs at most once: ${text}`);
  }
  return { policy, delivery };
}

const defaultDeliveryRetry: RetryPolicy = {
  attempts: limits.scheduleDeliveryAttempts,
  backoffMicros: BigInt(limits.scheduleDeliveryBackoffMillis) * 1_000n,
};

interface Target {
  readonly kind: 'reducer' | 'procedure';
  readonly params: ProductType;
}

function targetsByName(
  kind: Target['kind'],
  functions: readonly { readonly sourceName: string; readonly params: ProductType }[],
): Map<string, Target> {
  return new Map(functions.map(({ sourceName, params }) => [sourceName, { kind, params }]));
}

function validateSchedule(
  scope: Scope,
  schedule: RawSchedule,
  table: TableDefinition,
  { target, policy, delivery }: Rules & { readonly target: Target | undefined },
): ScheduleDefinition {
  const { problems } = scope;
  const given = scope.raw.version === 9 ? schedule.sourceName : undefined;
  const name = given ?? generatedScheduleName(table.name);
  const source = schedule.functionName;
  scope.entities.claim(name);
  checkShape(scope, schedule, table);
  if (target === undefined) {
    const text = `refers to a scheduled reducer or procedure ${source} that does not exist`;
    problems.report(`Schedule ${name} ${text}`);
  } else {
    checkTarget(scope, table, source, target);
  }
  const functionName = canonicalFunctionName(scope, source);
  return {
    name,
    atColumn: schedule.atColumn,
    functionName,
    target: target?.kind ?? 'reducer',
    delivery,
    policy,
  };
}

/** Column names are free: only the types of the schedule column and the primary key matter. */
function checkShape({ problems, typespace }: Scope, schedule: RawSchedule, table: TableDefinition) {
  const at = table.columns[schedule.atColumn];
  const key = table.primaryKey === undefined ? undefined : table.columns[table.primaryKey];
  const isAt = at !== undefined && specialKindOf(followRefs(at.type, typespace)) === 'scheduleAt';
  const isKey = key !== undefined && followRefs(key.type, typespace).kind === 'u64';
  if (isAt && isKey) return;
  const columns = table.columns.map((column) => `${column.name}: ${typeText(column.type)}`);
  problems.report(
    'A scheduled table must have columns `scheduled_id: u64` and `scheduled_at: ScheduledAt`, ' +
      `but table \`${table.name}\` has columns [${columns.join(', ')}]`,
  );
}

function checkTarget({ problems }: Scope, table: TableDefinition, name: string, target: Target) {
  if (takesOnly(target.params, table.rowTypeRef)) return;
  const types = `type ${typeText(rowParameter(table))}, but has type ${typeText(target.params)}`;
  problems.report(`Scheduled ${target.kind} ${name} expected to have ${types}`);
}

function takesOnly({ elements }: ProductType, rowTypeRef: number): boolean {
  const [first, ...others] = elements;
  return others.length === 0 && first?.type.kind === 'ref' && first.type.ref === rowTypeRef;
}

function rowParameter({ rowTypeRef }: TableDefinition): ProductType {
  return {
    kind: 'product',
    elements: [{ name: undefined, type: { kind: 'ref', ref: rowTypeRef } }],
  };
}
