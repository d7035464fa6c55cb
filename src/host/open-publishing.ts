import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { ignoreRefusal, StagedValues } from './databases/staged-values.ts';
import { Canaries } from './deploys/canaries.ts';
import { DeployCounts } from './deploys/deploy-counts.ts';
import type { HostOptions } from './host-options.ts';
import { DeployControl } from './publishing/deploy-control.ts';
import { Publisher, type PublisherOptions } from './publishing/publish.ts';

type Parts = Omit<PublisherOptions, 'issuer' | 'clock' | 'staged' | 'counts' | 'deployed'>;

/** How programs get in, how their values do with them, and how they are taken back. */
export function openPublishing({ issuer, clock, report }: HostOptions, parts: Parts) {
  const { registry, running, env, deploys } = parts;
  const staged = new StagedValues({
    ...{ registry, env, report },
    running: (database) => running.program(database),
  });
  const canaries: Canaries = new Canaries({
    ...{ deploys, clock, report },
    callsOf: (database) => running.find(database)?.handle.calls,
    generation: (database) => registry.database(database)?.generation,
    rollBack: (...canary) => control.rollBackCanary(...canary),
  });
  const counts = new DeployCounts((database) => registry.database(database) !== undefined);
  const publisher = new Publisher({
    ...{ ...parts, issuer, clock, staged, counts },
    deployed: (database, deploy) => {
      counts.deployed(database, deploy);
      canaries.deployed(database, deploy);
    },
  });
  const control = new DeployControl({ ...parts, publisher, counts });
  /** A database runs a program that may be another one than before. */
  const serves = async (database: DatabaseIdentity): Promise<void> => {
    await ignoreRefusal(staged.settle(database));
    await canaries.serves(database);
  };
  return { staged, publisher, canaries, counts, control, serves };
}
