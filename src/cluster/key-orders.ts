import { setTimeout as wait } from 'node:timers/promises';
import { generatePair } from '../auth/keys.ts';
import { fingerprintOfKeyText, newSecretKeyText } from '../auth/secret-keys.ts';
import { limits } from '../limits.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { list, number, object, type Shape, string } from '../values/json-shape.ts';
import { ClusterError } from './cluster-error.ts';
import { type KeyKeeper, type KeyState, keysPath } from './key-keeper.ts';
import {
  encryptingKey,
  fingerprintOfPem,
  type KeyRevision,
  withNextPair,
  withNextSecretsKey,
  withoutOldKeys,
  withoutSecretsKey,
  withPairSigning,
  withSecret,
  withSecretsKeyUsed,
} from './key-revision.ts';
import type { LinkClient } from './link-client.ts';
import type { Membership } from './membership.ts';

export interface KeyOrdersOptions {
  readonly me: HostId;
  readonly keeper: KeyKeeper;
  readonly membership: Pick<Membership, 'hosts' | 'living'>;
  readonly client: Pick<LinkClient, 'askHost'>;
  /** How long hosts are asked until all are so far; absent: as the limits say. */
  readonly millisMax?: number;
}

/** A key as operators see it. */
export interface ShownKey {
  /** Absent: the current one. */
  readonly number: number | undefined;
  readonly fingerprint: string;
  readonly state: 'signs' | 'verifies' | 'encrypts' | 'decrypts';
  /** Since when, in milliseconds of the Unix epoch; 0: since the cluster began. */
  readonly sinceMillis: number;
}

/** How far each host is; `state` is absent for one that does not answer. */
export interface ShownKeyHost {
  readonly name: string;
  readonly isLiving: boolean;
  readonly state: KeyState | undefined;
}

export interface ShownKeys {
  readonly revision: number;
  readonly signing: readonly ShownKey[];
  readonly secrets: readonly ShownKey[];
  readonly hosts: readonly ShownKeyHost[];
  /** The name of the cluster secret that counts. */
  readonly secret: string;
}

/**
 * Rotation of keys for all hosts, from whichever host is asked. A key is used when every host that
 * lives can check what it does; a step that was interrupted is gone on with by the next try.
 * Rejects with `ClusterError`.
 */
export class KeyOrders {
  readonly #options: KeyOrdersOptions;

  constructor(options: KeyOrdersOptions) {
    this.#options = options;
  }

  async shown(): Promise<ShownKeys> {
    const { keeper } = this.#options;
    const hosts = await this.#states();
    const { revision, signing, old, secrets } = keeper.revision;
    const current = encryptingKey(keeper.revision);
    const [secret = ''] = keeper.state.secrets;
    return {
      ...{ revision, hosts, secret },
      signing: [
        shownPair(undefined, signing, 'signs'),
        ...old.map((one) => shownPair(one.number, one, 'verifies')),
      ],
      secrets: [
        ...(current === undefined ? [] : [shownSecret(current, undefined)]),
        ...secrets.filter((one) => one !== current).map((one) => shownSecret(one, one.number)),
      ],
    };
  }

  /** A new pair signs tokens; what earlier ones signed is still verified, or, retired, rejected. */
  async rotateSigning(retires: boolean): Promise<void> {
    const sinceMillis = Date.now();
    await this.#change((newest) => {
      const { privateKey: privatePem, publicKey: publicPem } = generatePair();
      return withNextPair(newest, { privatePem, publicPem, sinceMillis });
    });
    await this.#untilTaken('Nothing signs with the new key yet', againText);
    await this.#change((newest) => withPairSigning(newest, sinceMillis));
    if (!retires) return this.#untilTaken('The new key signs', laterText);
    // Until then a host may sign with the key that is about to be retired.
    await this.#untilTaken('The new key signs, old ones are not retired', againText);
    await this.retireSigning(() => true);
  }

  /** Old keys verify nothing any more, at any host that lives when this resolves. */
  async retireSigning(isRetired: (number: number) => boolean): Promise<void> {
    await this.#change((newest) => withoutOldKeys(newest, isRetired));
    await this.#untilTaken('Old keys are retired', laterText);
  }

  /** Secrets of databases are encrypted again with a new key. */
  async rotateSecretsKey(): Promise<void> {
    const text = newSecretKeyText();
    await this.#change((newest) => withNextSecretsKey(newest, text, Date.now()));
    await this.#untilTaken('Nothing is encrypted with the new key yet', againText);
    await this.#change(withSecretsKeyUsed);
    await this.#untilTaken('The new key encrypts', laterText);
  }

  async retireSecretsKey(retired: number): Promise<void> {
    await this.#change((newest) => withoutSecretsKey(newest, retired));
    await this.#untilTaken('The key is retired', laterText);
  }

  /** The other secret that all hosts have counts from now on. */
  async rotateSecret(): Promise<void> {
    const { keeper } = this.#options;
    const [past = '', next] = keeper.state.secrets;
    if (next === undefined) throw new ClusterError(oneSecretText);
    if (keeper.revision.pastSecrets.includes(next)) throw new ClusterError(pastText(past, next));
    await this.#untilAll(
      ({ state }) => state?.secrets.includes(next) === true,
      (lacking) => lackingText(next, lacking),
      limits.secretKnownMillisMax,
    );
    await this.#change((newest) => withSecret(newest, past, next));
    await this.#untilTaken('The new secret counts', laterText);
  }

  #change(make: (newest: KeyRevision) => KeyRevision): Promise<void> {
    return this.#options.keeper.change(make);
  }

  /** Resolves when every host that lives has the newest keys. */
  async #untilTaken(soFar: string, advice: string): Promise<void> {
    const { revision } = this.#options.keeper.revision;
    await this.#untilAll(
      ({ state }) => (state?.revision ?? -1) >= revision,
      (late) => lateText(soFar, late, advice),
      limits.keysTakenMillisMax,
    );
  }

  /** Asks the hosts that live until it is so for each, for a while. */
  async #untilAll(
    isSo: (host: ShownKeyHost) => boolean,
    faultOf: (others: readonly ShownKeyHost[]) => string,
    millisMax: number,
  ): Promise<void> {
    const endsAt = performance.now() + (this.#options.millisMax ?? millisMax);
    for (;;) {
      const others = (await this.#states()).filter((host) => host.isLiving && !isSo(host));
      if (others.length === 0) return;
      if (performance.now() > endsAt) throw new ClusterError(faultOf(others));
      await wait(limits.keysAskMillis);
    }
  }

  async #states(): Promise<readonly ShownKeyHost[]> {
    const { me, keeper, membership, client } = this.#options;
    const living = new Set(membership.living.map(({ host }) => host));
    const hosts = membership.hosts.slice(0, limits.clusterHostsMax);
    const states = hosts.map(async ({ host, name, address }): Promise<ShownKeyHost> => {
      const isLiving = living.has(host);
      if (host === me) return { name, isLiving: true, state: keeper.state };
      if (!isLiving) return { name, isLiving, state: undefined };
      try {
        const state = stateShape(await client.askHost(address, keysPath), '');
        return { name, isLiving, state };
      } catch {
        return { name, isLiving, state: undefined };
      }
    });
    return Promise.all(states);
  }
}

const stateShape: Shape<KeyState> = object({ revision: number, secrets: list(string) });

function shownPair(
  shown: number | undefined,
  { publicPem, sinceMillis }: { readonly publicPem: string; readonly sinceMillis: number },
  state: ShownKey['state'],
): ShownKey {
  return { number: shown, fingerprint: fingerprintOfPem(publicPem), state, sinceMillis };
}

function shownSecret(
  { text, sinceMillis }: KeyRevision['secrets'][number],
  shown: number | undefined,
): ShownKey {
  const state = shown === undefined ? 'encrypts' : 'decrypts';
  return { number: shown, fingerprint: fingerprintOfKeyText(text), state, sinceMillis };
}

const oneSecretText =
  'This host has one cluster secret. Write a second one to the file of --cluster-secret-file of ' +
  'every host, on a line of its own, and send each host SIGHUP; then run this again';

function pastText(present: string, past: string): string {
  return (
    `Nothing was changed: ${present} is in use, and ${past} was before. Take that one out of the ` +
    'file of each host, and send it SIGHUP. To change the secret again, make a new one'
  );
}

function lackingText(name: string, hosts: readonly ShownKeyHost[]): string {
  const [answering, silent] = [true, false].map((answers) =>
    hosts.filter(({ state }) => (state !== undefined) === answers).map((one) => one.name),
  ) as [string[], string[]];
  const parts = [
    answering.length > 0 &&
      `${answering.join(', ')} ${answering.length === 1 ? 'has' : 'have'} no secret ${name}: ` +
        'write it to the file there, beside the one before, and send SIGHUP',
    silent.length > 0 && silentText(silent),
  ].filter(Boolean);
  return `Nothing was changed. ${parts.join('. ')}`;
}

function lateText(soFar: string, hosts: readonly ShownKeyHost[], advice: string): string {
  const names = hosts.map(({ name }) => name);
  return `${soFar}, and not every host has heard of it. ${silentText(names)}${advice}`;
}

const againText = ', then run the command again';
const laterText = '; it takes it when it answers again';

function silentText(names: readonly string[]): string {
  const [has, it] = names.length === 1 ? ['has', 'it'] : ['have', 'them'];
  return (
    `${names.join(', ')} ${has} not confirmed it: a host that has just started, is of an ` +
    `earlier version, or does not answer. Update ${it}, or stop ${it}`
  );
}
