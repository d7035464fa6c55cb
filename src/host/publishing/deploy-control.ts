import { type Refusal, refusal } from '../../database/outcome.ts';
import { definitionOf } from '../../database/program.ts';
import { ownerRights } from '../../database/rights.ts';
import { limits } from '../../limits.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { planBack } from '../../schema/plan-declared.ts';
import { identityToHex } from '../../values/identity.ts';
import { asCaller, type DatabaseIdentity, databaseAsCaller } from '../../values/identity-roles.ts';
import type { RunningDatabases } from '../databases/running-databases.ts';
import { type Deploy, deployBefore } from '../deployed/deploy.ts';
import type { DeployCounts } from '../deploys/deploy-counts.ts';
import type { KnownDeploys } from '../deploys/deploy-list.ts';
import type { Deploys } from '../deploys/deploys.ts';
import { lossesOf, lossText } from '../deploys/way-back.ts';
import { programHashInSlices } from '../linking/program-hash.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { Registry } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import { noSuchDatabase } from '../registry/resolve-target.ts';
import type { StaticChoice } from '../sites/site.ts';
import type { Sites } from '../sites/sites.ts';
import type { ProgramSource, UpdatePermission } from '../supervision/database-handle.ts';
import type { PlanTrial } from './plan-control.ts';
import type { Publisher } from './publish.ts';

export interface DeployControlOptions {
  readonly deploys: Deploys;
  readonly registry: Registry;
  readonly access: Access;
  readonly audit: AuditLog;
  readonly running: RunningDatabases;
  readonly sites: Sites;
  readonly publisher: Publisher;
  readonly counts: DeployCounts;
}

/** What putting an earlier program back would do. */
export interface RollbackPlan {
  /** The deploy whose program is put back. */
  readonly of: Deploy;
  readonly text: string;
  readonly colouredText: string;
  readonly breaksClients: boolean;
  readonly token: string;
}

export interface RollbackOrder {
  /** A number of the list; `undefined`: the deploy before. */
  readonly number: number | undefined;
  readonly permission: UpdatePermission;
  readonly confirmMillis: number;
  readonly message: string;
}

export interface RolledBack {
  readonly deploy: Deploy;
  readonly of: Deploy;
  /** What became of the static files; `gone`: those of then are no longer kept. */
  readonly static: 'restored' | 'unchanged' | 'gone';
}

type Target = Pick<RegisteredDatabase, 'identity'>;

/** Lists the deploys of databases, and puts earlier programs back. */
export class DeployControl {
  readonly #options: DeployControlOptions;
  /** Of programs that do not run, by their hashes, which were asked for last. */
  readonly #definitions = new Map<string, ModuleDefinition>();

  constructor(options: DeployControlOptions) {
    this.#options = options;
  }

  async list(by: HostCaller, { identity }: Target): Promise<KnownDeploys> {
    const { access, deploys } = this.#options;
    access.require(by, this.#record(identity), 'viewDeploys');
    return deploys.of(identity).list();
  }

  /** The last deploy, as written down; asks no database. `undefined`: not for this caller. */
  async newest(by: HostCaller, { identity }: Target): Promise<Deploy | undefined> {
    const { access, deploys } = this.#options;
    if (!access.allows(by, this.#record(identity), 'viewDeploys')) return undefined;
    return deploys.of(identity).newest();
  }

  /** What the program of a deploy declares; `Refusal` `deploy.unknown` where it is not kept. */
  async definition(
    by: HostCaller,
    { identity }: Target,
    number: number,
  ): Promise<ModuleDefinition> {
    const { access, deploys, running } = this.#options;
    const record = this.#record(identity);
    access.require(by, record, 'viewDeploys');
    const { handle } = running.entry(identity);
    const { definition, programHash } = await handle.describe();
    const of = (await deploys.of(identity).list()).deploys.find((one) => one.number === number);
    if (of === undefined) throw noDeploy(noDeployText(number));
    if (of.program === programHash) return definition;
    const known = this.#definitions.get(of.program);
    if (known !== undefined) return known;
    const program = await this.#programOf(record, of);
    const earlier = definitionOf(await running.examine(identity, program));
    this.#definitions.set(of.program, earlier);
    const [oldest = ''] = this.#definitions.keys();
    if (this.#definitions.size > limits.deployDefinitionsMax) this.#definitions.delete(oldest);
    return earlier;
  }

  /** Rejects with `Refusal` where it cannot be done: see `rollBack`. */
  async plan(by: HostCaller, { identity }: Target, number?: number): Promise<RollbackPlan> {
    const record = this.#record(identity);
    this.#options.access.require(by, record, 'update');
    const of = await this.#chosen(identity, number);
    const program = await this.#programOf(record, of);
    return { of, ...(await this.#planned(record, of, program)) };
  }

  /**
   * Carries out what `plan` has found, on the rows of this moment, and throws it away. `signal`
   * cancels that.
   */
  async trial(
    by: HostCaller,
    { identity }: Target,
    { number }: Deploy,
    signal: AbortSignal,
  ): Promise<PlanTrial> {
    const { access, running, publisher } = this.#options;
    const record = this.#record(identity);
    access.require(by, record, 'update');
    const program = await this.#programOf(record, await this.#chosen(identity, number));
    const { handle } = running.entry(identity);
    const { definition: old, applied = [] } = await handle.describe();
    const { earlier, report } = await publisher.underWay.with(identity, signal, async (either) => {
      const described = await running.examine(identity, program, either);
      const report = await handle.trial(program, either, true);
      return { earlier: definitionOf(described), report };
    });
    const isDeclared = planBack(old, earlier, applied).kind === 'declared';
    const sampled = (isDeclared && old.migrations[report.sampledTo + 1]?.from) || earlier;
    return { report, old, sampled, back: undefined };
  }

  /**
   * Puts the program of an earlier deploy back, with its static files. Rejects with `Refusal`
   * `deploy.unknown` where that is not kept, and `migration.refused` where rows would lose
   * something, which the text lists.
   */
  async rollBack(by: HostCaller, { identity }: Target, order: RollbackOrder): Promise<RolledBack> {
    const { access, publisher, audit, counts } = this.#options;
    return publisher.inTurn(identity, async () => {
      const record = this.#record(identity);
      access.require(by, record, 'update');
      const of = await this.#chosen(identity, order.number);
      const { identity: who } = by;
      const done = await counts.around(identity, () => {
        return this.#putBack(record, of, { ...order, by: who });
      });
      const detail = { deploy: done.deploy.number, of: of.number, program: of.program };
      const note = { action: 'roll back database', caller: by, database: identity } as const;
      await audit.note({ ...note, outcome: 'done', detail });
      return done;
    });
  }

  /** Takes a deploy back that is watched, for a reason, unless another one came meanwhile. */
  async rollBackCanary(identity: DatabaseIdentity, deploy: Deploy, reason: string): Promise<void> {
    const { publisher, audit } = this.#options;
    await publisher.inTurn(identity, async () => {
      const { deploys } = await this.#options.deploys.of(identity).list();
      const record = this.#options.registry.database(identity);
      if (record === undefined || deploys.at(-1)?.number !== deploy.number) return;
      const of = deploys.at(-2);
      if (of === undefined) throw noDeploy('There is no earlier deploy');
      const program = await this.#programOf(record, of);
      const { token } = await this.#planned(record, of, program);
      const permission = { policy: 'breakClients', token } as const;
      const order = { permission, by: undefined, message: reason, confirmMillis: 60_000 };
      const done = await this.#putBack(record, of, order);
      const caller = { identity: databaseAsCaller(identity), address: 'canary' };
      const detail = { deploy: done.deploy.number, of: of.number, program: of.program, reason };
      const note = { action: 'roll back database', caller, database: identity } as const;
      await audit.note({ ...note, outcome: 'done', detail });
    });
  }

  async #putBack(
    record: RegisteredDatabase,
    of: Deploy,
    order: Omit<RollbackOrder, 'number'> & { readonly by: HostCaller['identity'] | undefined },
  ): Promise<RolledBack> {
    const { publisher, sites } = this.#options;
    const { permission, confirmMillis, message, by } = order;
    const program = await this.#programOf(record, of);
    await this.#planned(record, of, program);
    const { setId: served } = await sites.served(record.identity);
    const found = await this.#filesOf(record.identity, of, served);
    const deploy = await publisher.replace(record, {
      ...{ program, confirmMillis, ...permission },
      static: found.choice,
      deploy: { kind: 'rolled-back', by, message, of: of.number },
    });
    if (deploy === undefined) throw runsAlready(of);
    return { deploy, of, static: found.outcome };
  }

  async #filesOf(
    identity: DatabaseIdentity,
    { staticSet }: Deploy,
    served: string | undefined,
  ): Promise<{ choice: StaticChoice | undefined; outcome: RolledBack['static'] }> {
    if (staticSet === served) return { choice: undefined, outcome: 'unchanged' };
    if (staticSet === undefined) return { choice: { kind: 'none' }, outcome: 'restored' };
    if (!(await this.#options.sites.hasSet(identity, staticSet))) {
      return { choice: undefined, outcome: 'gone' };
    }
    return { choice: { kind: 'set', id: staticSet }, outcome: 'restored' };
  }

  async #chosen(identity: DatabaseIdentity, number: number | undefined): Promise<Deploy> {
    const { deploys, running } = await this.#options.deploys.of(identity).list();
    if (running === undefined) await this.#options.running.entry(identity).handle.describe();
    if (number === undefined) {
      const before = deployBefore(deploys);
      if (before === undefined) throw noDeploy('There is no earlier program to go back to');
      return before;
    }
    const found = deploys.find((one) => one.number === number);
    if (found === undefined) throw noDeploy(noDeployText(number));
    if (found.program === deploys.at(-1)?.program) throw runsAlready(found);
    return found;
  }

  /** The bytes of a program that was kept, compared with their hash. */
  async #programOf(
    { identity, hostType: kind }: RegisteredDatabase,
    { number, program }: Deploy,
  ): Promise<ProgramSource> {
    const bytes = await this.#options.deploys.of(identity).kept(program);
    if (bytes === undefined) {
      throw noDeploy(`The program of deploy ${number} ${notKeptText}`);
    }
    const hash = Buffer.from(await programHashInSlices(bytes)).toString('hex');
    if (hash !== program) throw noDeploy(`The program of deploy ${number} is damaged`);
    return { kind, bytes };
  }

  /** Refuses what would lose rows or values before anything else does. */
  async #planned(record: RegisteredDatabase, of: Deploy, program: ProgramSource) {
    const { running } = this.#options;
    const { identity, owner } = record;
    const { handle } = running.entry(identity);
    const caller = { identity: asCaller(owner), rights: ownerRights, jwtPayload: '' };
    const { definition, schemaVersion, applied = [] } = await handle.describe();
    const earlier = definitionOf(await running.examine(identity, program));
    const tables = await handle.tables(caller);
    const rowCounts = new Map(tables.map(({ table, size }) => [table, size?.rowCount ?? 0]));
    // What `down` steps make of rows, they have declared.
    const isDeclared = planBack(definition, earlier, applied).kind === 'declared';
    const losses = isDeclared ? [] : lossesOf(definition, earlier, rowCounts);
    const plan = await handle.plan(program, { isRollback: true });
    if (plan.kind === 'automatic' && losses.length === 0) return plan;
    const reason = plan.kind === 'manual' ? plan.reason.trim() : '';
    const { deploys } = await this.#options.deploys.of(identity).list();
    const last = lastCommitOf(of, deploys) ?? schemaVersion - 1;
    const lines = [
      `Rolling back to deploy ${of.number} was refused; nothing was changed.`,
      ...(losses.length > 0 ? ['It would lose:', ...losses.map(lossText)] : []),
      ...(reason === '' ? [] : ['The plan:', reason]),
      'To have the program and the rows of then, restore the database to the moment before the ' +
        'change, which loses what came since: `reducerdb backup restore latest --database ' +
        `${identityToHex(identity)} --at ${last} --in-place\`.`,
    ];
    throw refusal('migration.refused', lines.join('\n'));
  }

  #record(identity: DatabaseIdentity): RegisteredDatabase {
    const record = this.#options.registry.database(identity);
    if (record === undefined) throw noSuchDatabase();
    return record;
  }
}

/** The last commit that a deploy served; `undefined`: not of the history that there is now. */
function lastCommitOf({ number }: Deploy, deploys: readonly Deploy[]): number | undefined {
  const next = deploys.find((one) => one.number > number);
  return next?.generation === deploys.at(-1)?.generation && next ? next.commit - 1 : undefined;
}

function noDeployText(number: number): string {
  return `There is no deploy ${number}; \`reducerdb deploys\` lists them`;
}

function noDeploy(text: string): Refusal {
  return refusal('deploy.unknown', text);
}

function runsAlready({ number }: Deploy): Refusal {
  return refusal('publish.invalid', `The program of deploy ${number} runs already`);
}

const notKeptText = 'is not kept here: the last 10 are, at the host where they were published';
