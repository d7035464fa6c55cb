import { describe, expect, it } from 'vitest';
import { hostOptions } from '../../../test/support/host-options.ts';
import { SecretKeys } from '../../auth/secret-keys.ts';
import { writeFileAtomically } from '../../node/atomic-file.ts';
import { callerIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import { DatabaseFiles } from './database-files.ts';
import { EnvStore } from './env-store.ts';
import { openRegistry } from './open-registry.ts';

const identity = databaseIdentity(5n);
const by = callerIdentity(7n);
const [old, fresh, next] = ['1', '2', '3'].map((digit) => digit.repeat(64)) as [
  string,
  string,
  string,
];
const valuesOf = (text: string) => [
  { name: 'URL', text, isSecret: false },
  { name: 'KEY', text, isSecret: true },
];

async function open() {
  const options = hostOptions();
  const registry = await openRegistry(options, new DatabaseFiles(undefined));
  const keys = new SecretKeys(undefined, writeFileAtomically);
  const env = new EnvStore({ ...options, registry, keys });
  await env.change(identity, { given: valuesOf('1'), by });
  /** What a lane of this program reads; of the actor, whether it is given the same. */
  const read = async (program: string, generation = 1) => {
    const { values } = await env.whole({ identity, generation, program });
    const { live, staged } = env.plain(identity, generation);
    const plain = staged?.program === program ? staged.env : live;
    return [values.URL, values.KEY, plain.values.URL, plain.values.KEY];
  };
  return { registry, env, keys, read };
}

describe('[living 4.1] values that come with a publish', () => {
  const publish = { generation: 1, program: fresh, decider: 'program' } as const;

  it('are for its program, in its generation', async () => {
    const { registry, env, read } = await open();
    await env.stage(identity, publish, { given: valuesOf('2'), by });
    expect(await read(old)).toEqual(['1', '1', '1', undefined]);
    expect(await read(fresh)).toEqual(['2', '2', '2', undefined]);
    expect(await read(fresh, 2)).toEqual(['1', '1', '1', undefined]);
    await env.settle(identity, false);
    expect(await read(fresh)).toEqual(['1', '1', '1', undefined]);
    await registry.close();
  });

  it('[replication 7.6] count, too, among what is encrypted with a key', async () => {
    const { registry, env, keys } = await open();
    const counts = () => [keys.current ?? '', 'of no key'].map((one) => env.countSealedBy(one));
    expect(counts()).toEqual([1, 0]);
    await env.stage(identity, publish, { given: valuesOf('2'), by });
    expect(counts()).toEqual([2, 0]);
    await registry.close();
  });

  it('are not for calls of the program before that go on', async () => {
    const { registry, env, read } = await open();
    const unfollow = env.follow(identity, () => undefined);
    await env.stage(identity, publish, { given: valuesOf('2'), by });
    await env.settle(identity, true);
    expect(await read(fresh)).toEqual(['2', '2', '2', undefined]);
    expect((await read(old)).slice(0, 2)).toEqual(['1', '1']);
    await env.change(identity, { given: valuesOf('3'), by });
    expect((await read(fresh)).slice(0, 2)).toEqual(['3', '3']);
    expect((await read(old)).slice(0, 2)).toEqual(['1', '1']);
    // With the next publish, the program before may come back.
    env.replaces(identity);
    for (const program of [old, next]) {
      expect((await read(program)).slice(0, 2)).toEqual(['3', '3']);
    }
    unfollow();
    await registry.close();
  });

  it('leave nothing in memory where there are no lanes', async () => {
    const { registry, env, read } = await open();
    await env.stage(identity, publish, { given: valuesOf('2'), by });
    const unfollow = env.follow(identity, () => undefined);
    await env.settle(identity, true);
    unfollow();
    expect((await read(old)).slice(0, 2)).toEqual(['2', '2']);
    await registry.close();
  });

  it('count among those that a database may have', async () => {
    const { registry, env } = await open();
    const many = Array.from({ length: 254 }, (_, at) => {
      return { name: `N${at}`, text: '', isSecret: false };
    });
    await env.stage(identity, publish, { given: many, by });
    const more = { given: [{ name: 'MORE', text: '', isSecret: false }], by };
    await expect(env.change(identity, more)).rejects.toThrow('at most 256 values');
    await env.settle(identity, false);
    await env.change(identity, more);
    await registry.close();
  });
});
