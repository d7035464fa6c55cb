import type { TableSpec } from '../schema/catalog.ts';
import { bindParameters, type ParameterValue } from '../sql/check/bind.ts';
import { checkSubscription, type TypedSubscription } from '../sql/check/check-subscription.ts';
import type { ReadPlan } from '../sql/plan/plan.ts';
import { planStatement } from '../sql/plan/plan-statement.ts';
import { planningStatistics } from '../sql/planning-statistics.ts';
import type { Rights } from '../sql/rights.ts';
import type { SqlTables } from '../sql/schema.ts';
import { parse } from '../sql/syntax/parse.ts';
import { LiveFragment } from './fragment.ts';
import type { LiveSchema } from './live-schema.ts';

/** A query of the subscription dialect, checked for all callers with the same rights. */
export class PreparedQuery {
  /** Trimmed. */
  readonly sql: string;
  readonly rights: Rights;
  readonly typed: TypedSubscription;
  readonly schema: LiveSchema;

  /** `joinRules`: it is to be watched. Throws `SqlFailure`. */
  constructor(sql: string, rights: Rights, schema: LiveSchema, joinRules: boolean) {
    this.sql = sql;
    this.rights = rights;
    this.schema = schema;
    this.typed = checkSubscription(parse(sql), { schema: schema.sql, rights }, { joinRules });
  }

  get table(): TableSpec {
    return this.typed.table;
  }

  /** Ids of the views that it reads. */
  get views(): readonly number[] {
    return [...new Set(this.typed.fragments.flatMap(({ views }) => views))];
  }

  /** Whether callers with the same rights may see different rows. */
  get isOfCaller(): boolean {
    const { fragments } = this.typed;
    const hasSender = fragments.some(({ parameters }) => parameters.length > 0);
    return hasSender || this.views.some((id) => this.schema.isOfCaller(id));
  }

  fragmentsFor(identity: bigint): readonly LiveFragment[] {
    const { schema, typed } = this;
    return typed.fragments.map((read) => {
      const parameters = bindParameters(read.parameters, noValues, identity, schema.types);
      return new LiveFragment(read, { schema, identity, parameters });
    });
  }

  /** By the sizes of the tables at this moment. */
  plans(tables: SqlTables): readonly ReadPlan[] {
    const { schema, rights, typed } = this;
    const statistics = planningStatistics(schema.sql, rights, tables);
    const { types } = schema;
    return typed.fragments.map((read) => planStatement(read, { types, statistics }));
  }
}

export const noValues: ReadonlyMap<string, ParameterValue> = new Map();
