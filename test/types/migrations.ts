import { type MigrationTx, migration, type Timestamp } from 'reducerdb/server';
import { type Equal, expectType } from './expect.ts';

// Rows of tables before, by the interface that `migrate new` writes.

interface Before {
  user: { id: bigint; fullName: string; age: string | undefined };
  city: { id: number; label: string };
}

interface After {
  person: { id: bigint; name: string; age: number };
}

migration<Before, After>({
  id: '0001-people',
  from: '',
  steps: (m) => [
    m.renameTable('user', 'person'),
    m.changeColumn('user', 'age', {
      using: (old, { timestamp }) => {
        expectType<Equal<typeof old, Before['user']>>();
        expectType<Equal<typeof timestamp, Timestamp>>();
        return Number(old.age);
      },
    }),
    // A name that is new has rows of any type.
    m.addColumn('person', 'initial', { fill: (old: Before['user']) => old.fullName[0] }),
    m.mapRows('city', (old, read) => {
      const user = read.old.user.id.find(1n);
      expectType<Equal<typeof user, Before['user'] | null>>();
      return user === null ? undefined : [old, { id: 1 }];
    }),
    m.mapRows('person', () => ({ name: 'Ann' })),
    m.splitTable('city', { into: { place: ({ label }) => ({ label: label.trim() }) } }),
    m.run((tx) => {
      expectType<Equal<typeof tx, MigrationTx<Before, After>>>();
      for (const city of tx.old.city.iter()) tx.new.person.insert({ name: city.label });
      expectType<Equal<ReturnType<typeof tx.new.person.count>, bigint>>();
    }),
    m.assert((tx) => tx.new.person.count() > tx.old.user.count(), 'more'),
    m.assert('SELECT 1 = 1', 'holds'),
    m.dropTable('city', { rows: 'discard' }),
  ],
  down: (m) => [m.changeColumn('person', 'age', { using: (old) => String(old.age) })],
});

migration<Before, After>({
  id: '0002-mistakes',
  from: '',
  steps: (m) => [
    // @ts-expect-error: there is no such column
    m.changeColumn('user', 'age', { using: (old) => old.years }),
    // @ts-expect-error: rows are discarded, and it has to say so
    m.dropTable('user', {}),
    // @ts-expect-error: a column of the other type
    m.mapRows('person', () => ({ name: 7 })),
    // @ts-expect-error: tables before cannot be written
    m.run((tx) => tx.old.user.insert({ fullName: '' })),
    // @ts-expect-error: no check
    m.assert(() => 'yes', 'holds'),
  ],
});

// Without types, rows are any.
migration({
  id: '0003-loose',
  from: '',
  steps: (m) => [
    m.changeColumn('anything', 'c', { using: (old) => old.whatever.it.is }),
    m.run((tx) => tx.new.anything.id.update({ ...tx.old.other.id.find(1), x: 2 })),
  ],
});
