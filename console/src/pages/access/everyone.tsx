import { Badge } from '../../parts/badge.tsx';
import { Panel } from '../../parts/page.tsx';
import { Empty, Notice, WhenLoaded } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { readFunctionFacts } from '../../service/functions.ts';
import { useLoad } from '../../service/load.ts';
import { runSql } from '../../service/sql.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './access.module.css';

/** What a caller without a token reads and calls: the tables by asking as one. */
export function Everyone({ database }: { readonly database: string }) {
  return (
    <>
      <Notice>
        This is what a caller without a token may do here. Row filters narrow what is read of a
        table to rows that concern the caller.
      </Notice>
      <Panel title="May read" isBare>
        <Readable database={database} />
      </Panel>
      <Panel title="May call" isBare>
        <Callable database={database} />
      </Panel>
    </>
  );
}

function Readable({ database }: { readonly database: string }) {
  const tables = useLoad(`tables for everyone ${database}`, async (signal) => {
    const { rows } = await runSql(database, 'SHOW TABLES', { signal, isAnonymous: true });
    return rows.map(([name, kind]) => ({ name: String(name), kind: String(kind) }));
  });
  return (
    <WhenLoaded of={tables}>
      {(list) =>
        list.length === 0 ? (
          <Empty icon="lock" title="No table">
            Every table is private: only those with a role, or with a token for it, read them.
          </Empty>
        ) : (
          <Table
            label="Tables for everyone"
            columns={[
              { title: 'Table', cell: ({ name }) => <code>{name}</code> },
              { title: 'Kind', cell: ({ kind }) => <Badge>{kind}</Badge> },
            ]}
            rows={list}
            keyOf={({ name }) => name}
          />
        )
      }
    </WhenLoaded>
  );
}

/** Functions that the module lets clients call, by what it says of each. */
function Callable({ database }: { readonly database: string }) {
  const { schema } = useDatabase();
  const facts = useLoad(`functions for everyone ${database}`, (signal) => {
    return readFunctionFacts(database, signal);
  });
  return (
    <WhenLoaded of={schema}>
      {({ functions }) => (
        <WhenLoaded of={facts}>
          {({ notes, handlers }) => {
            const open = functions.filter(({ name, kind }) => {
              const callers = notes.get(name)?.callers ?? '';
              return kind !== 'lifecycle' && !callers.startsWith('the owner');
            });
            const all = [
              ...open.map(({ name, kind }) => ({ name, kind: kind as string })),
              ...handlers.map(({ name }) => ({ name, kind: 'handler' })),
            ];
            return all.length === 0 ? (
              <Empty icon="lock" title="No function">
                The module has no reducer, procedure or handler for clients.
              </Empty>
            ) : (
              <Table
                label="Functions for everyone"
                columns={[
                  { title: 'Function', cell: ({ name }) => <code>{name}</code> },
                  {
                    title: 'Kind',
                    cell: ({ kind }) => (
                      <span className={styles.words}>
                        <Badge>{kind}</Badge>
                      </span>
                    ),
                  },
                ]}
                rows={all}
                keyOf={({ kind, name }) => `${kind} ${name}`}
              />
            );
          }}
        </WhenLoaded>
      )}
    </WhenLoaded>
  );
}
