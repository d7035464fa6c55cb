import { gunzipSync } from 'node:zlib';
import { Decrypter } from 'age-encryption';
import { expect, it } from 'vitest';
import { all, pieces } from '../../test/contracts/object-store.contract.ts';
import { BackupStory, storyRepository } from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { Random } from '../testing/random.ts';
import { BackupError } from './backup-error.ts';
import { identitiesIn, newIdentity } from './encryption.ts';
import { objectsOf } from './manifest.ts';
import { initRepository, ObjectFault, openRepository, type Repository } from './repository.ts';
import { checkTakesKeys } from './ship.ts';

it('[history 5.10] who writes needs only a recipient; the tools of age open objects', async () => {
  const { identity, recipient } = await newIdentity();
  const store = new MemoryStore();
  const writer = await storyRepository(store, { recipients: [recipient] });
  expect(writer.isEncrypted).toBe(true);
  expect(writer.canRead).toBe(false);
  const story = await BackupStory.begin(1);
  await story.work(5);
  const manifest = await story.backup(writer, 2_000_000_000_000);
  const [entry] = objectsOf(manifest);
  if (entry === undefined) throw new Error('no object');
  expect(entry.name).toMatch(/\.log\.gz\.age$/);
  const stored = store.objects.get(entry.name) ?? new Uint8Array(0);
  expect(Buffer.from(stored).toString('latin1')).toMatch(/^age-encryption\.org\/v1\n/);
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  expect(gunzipSync(await decrypter.decrypt(stored)).length).toBe(entry.bytes);
  const reader = await openRepository(store, { identities: [identity] });
  expect((await all(reader.read(entry))).length).toBe(entry.bytes);
  await expect(all(writer.read(entry))).rejects.toThrow(
    `object ${entry.name} is encrypted; none of the given identities opens it`,
  );
  const { identity: other } = await newIdentity();
  const stranger = await openRepository(store, { identities: [other] });
  const read = all(stranger.read(entry));
  await expect(read).rejects.toThrow(BackupError);
  await expect(read).rejects.toThrow('none of the given identities opens it');
});

it('[history 5.10] a passphrase opens a repository; another one does not', async () => {
  const store = new MemoryStore();
  await initRepository(store, { passphrase: 'correct horse', nowMicros: 1 });
  const writer = await openRepository(store);
  const put = await writer.put('objects/host/a.gz.age', pieces(Buffer.from('content'), 3));
  if (put.kind !== 'put') throw new Error('there');
  const reader = await openRepository(store, { passphrase: 'correct horse' });
  expect((await all(reader.read(put.entry))).toString()).toBe('content');
  const text = 'the passphrase does not open memory';
  await expect(openRepository(store, { passphrase: 'wrong horse' })).rejects.toThrow(text);
});

it('[history 5.9] what a cut-off run left encrypted is known by its size', async () => {
  const { recipient } = await newIdentity();
  const store = new MemoryStore();
  const repository = await storyRepository(store, { recipients: [recipient] });
  for (const size of [0, 1, 65_535, 65_536, 300_000]) {
    const name = `objects/host/${size}.gz.age`;
    const bytes = new Random(size).bytes(size);
    await repository.put(name, pieces(bytes, 1000));
    const entry = await repository.adopt(name, pieces(bytes, 999));
    expect(entry?.storedBytes).toBe(store.objects.get(name)?.length);
    const other = new Random(size).bytes(size + 100);
    expect(await repository.adopt(name, pieces(other, 1000))).toBeUndefined();
  }
});

it('[history 5.11] keys are put into encrypted repositories only', async () => {
  const plain = await storyRepository(new MemoryStore());
  expect(() => checkTakesKeys(plain, [])).toThrow(
    'keys are only backed up encrypted; make the repository with --recipient',
  );
  const { recipient } = await newIdentity();
  const keyed = await storyRepository(new MemoryStore(), { recipients: [recipient] });
  checkTakesKeys(keyed, [recipient]);
  expect(() => checkTakesKeys(keyed, [])).toThrow('that config.toml names');
});

it('[history 5.10] recipients and identities are checked, and secrets never shown', async () => {
  const store = new MemoryStore();
  const init = (recipients: string[]) => initRepository(store, { recipients, nowMicros: 1 });
  await expect(init(['age1nonsense'])).rejects.toThrow('age1nonsense is not an age recipient');
  await expect(init(Array(40).fill('age1'))).rejects.toThrow('at most 32 recipients');
  expect(store.objects.size).toBe(0);
  const { identity } = await newIdentity();
  expect(identitiesIn(`# created: now\n\n${identity}\r\n`)).toEqual([identity]);
  for (const text of ['', '# only a comment', `${identity}\nsecret words`]) {
    expect(() => identitiesIn(text)).toThrow(BackupError);
    expect(() => identitiesIn(text)).not.toThrow(/secret words/);
  }
  const broken = `${identity.slice(0, -1)}${identity.endsWith('Q') ? 'P' : 'Q'}`;
  const { recipient } = await newIdentity();
  await init([recipient]);
  const repository = await openRepository(store, { identities: [broken] });
  await repository.put('objects/host/a.gz.age', pieces(Buffer.from('x'), 1));
  const entry = {
    name: 'objects/host/a.gz.age',
    storedBytes: 1,
    bytes: 1,
    storedHash: '',
    hash: '',
  };
  await expect(all(repository.read(entry))).rejects.toThrow('an identity is not valid');
  await expect(all(repository.read(entry))).rejects.not.toThrow(broken.slice(20));
});

it('[history 5.10, I10] each byte of an encrypted object counts', async () => {
  const { identity, recipient } = await newIdentity();
  const store = new MemoryStore();
  await storyRepository(store, { recipients: [recipient] });
  const repository: Repository = await openRepository(store, { identities: [identity] });
  const name = 'objects/host/a.gz.age';
  const put = await repository.put(name, pieces(Buffer.from('content of an object'), 3));
  if (put.kind !== 'put') throw new Error('there');
  const whole = Uint8Array.from(store.objects.get(name) ?? []);
  for (let at = 0; at < whole.length; at++) {
    const flipped = Uint8Array.from(whole);
    flipped[at] = (flipped[at] ?? 0) ^ 4;
    store.objects.set(name, flipped);
    const error = await all(repository.read(put.entry)).catch((thrown: unknown) => thrown);
    // A changed stanza is one that no identity opens.
    const isNamed = error instanceof ObjectFault || error instanceof BackupError;
    expect(isNamed, `byte ${at}: ${error}`).toBe(true);
    expect(String(error)).toContain(name);
  }
});
