import { type ReactNode, useRef, useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { SearchBar } from '../../parts/field.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { Menu } from '../../parts/menu.tsx';
import { bytesText, countText } from '../../parts/numbers.ts';
import { PageFrame, Panel } from '../../parts/page.tsx';
import { Sparkline, sparkValues } from '../../parts/sparkline.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { type DatabaseEntry, readDatabases } from '../../service/databases.ts';
import { useLoad } from '../../service/load.ts';
import { session } from '../../service/session-token.ts';
import { useStore } from '../../service/store.ts';
import { useService } from '../../shell/database-context.tsx';
import { Link, pageAddress, useParam } from '../../shell/router.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import styles from './host.module.css';
import { OpenDatabase } from './open-database.tsx';

const everyMillis = 3_000;
/** From here on a list is searched rather than read. */
const searchedFrom = 8;

/** The databases that the caller may see, with what they do at the moment. */
export function Page() {
  // Who has not signed in has no role anywhere, and names a database instead.
  const isNobody = useStore(session).kind !== 'token';
  const databases = useLoad(isNobody ? null : 'databases', readDatabases, { everyMillis });
  const service = useService();
  const [isCreating, setCreating] = useState(false);
  const [deleted, setDeleted] = useState<DatabaseEntry | null>(null);
  const canCreate = !isNobody && service?.features.has('templates') === true;
  const create = canCreate && (
    <Button kind="accent" icon="plus" onClick={() => setCreating(true)}>
      New database
    </Button>
  );
  return (
    <PageFrame
      title="Databases"
      about="Those of this service in which you have a role."
      actions={create}
    >
      {isNobody ? (
        <OpenDatabase />
      ) : (
        <WhenLoaded of={databases}>
          {(entries) => <Databases {...{ entries, create, onDelete: setDeleted }} />}
        </WhenLoaded>
      )}
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
      {deleted !== null && (
        <DeleteDialog
          database={deleted.name}
          onClose={() => setDeleted(null)}
          onDeleted={() => {
            setDeleted(null);
            databases.reload();
          }}
        />
      )}
    </PageFrame>
  );
}

interface DatabasesProps {
  readonly entries: readonly DatabaseEntry[];
  readonly create: ReactNode;
  readonly onDelete: (entry: DatabaseEntry) => void;
}

function Databases({ entries, create, onDelete }: DatabasesProps) {
  const [search, setSearch] = useParam('search');
  const ratesOf = useRates(entries);
  if (entries.length === 0) {
    return (
      <Panel>
        <Empty icon="database" title="No database yet" actions={create}>
          Publish a module: <code>reducerdb init my-app</code>, then{' '}
          <code>reducerdb publish my-db</code>.
        </Empty>
      </Panel>
    );
  }
  const text = search.trim().toLowerCase();
  const shown = entries.filter(({ name, identity }) => {
    return name.toLowerCase().includes(text) || identity.startsWith(text);
  });
  return (
    <>
      {(entries.length >= searchedFrom || search !== '') && (
        <SearchBar
          label="Find databases"
          value={search}
          onChange={setSearch}
          shown={shown.length}
          all={entries.length}
        />
      )}
      <Panel isBare>
        {shown.length === 0 ? (
          <Empty icon="search" title="No database has this name" />
        ) : (
          <Table
            label="Databases"
            columns={columnsWith(ratesOf, onDelete)}
            rows={shown}
            keyOf={({ identity }) => identity}
          />
        )}
      </Panel>
    </>
  );
}

/** The rates of calls since the page was opened, by database; they go with the page. */
function useRates(entries: readonly DatabaseEntry[]): (identity: string) => readonly number[] {
  const kept = useRef<{ of: readonly DatabaseEntry[]; rates: ReadonlyMap<string, number[]> }>({
    of: [],
    rates: new Map(),
  });
  if (kept.current.of !== entries) {
    const old = kept.current.rates;
    const rates = entries.map(({ identity, callsPerSecond }) => {
      const values = [...(old.get(identity) ?? []), callsPerSecond ?? 0].slice(-sparkValues);
      return [identity, values] as const;
    });
    kept.current = { of: entries, rates: new Map(rates) };
  }
  return (identity) => kept.current.rates.get(identity) ?? [];
}

function columnsWith(
  ratesOf: (identity: string) => readonly number[],
  onDelete: (entry: DatabaseEntry) => void,
): readonly TableColumn<DatabaseEntry>[] {
  return [
    {
      title: 'Name',
      cell: ({ name }) => (
        <Link className={styles.name} to={pageAddress(name, 'data')}>
          {name}
        </Link>
      ),
    },
    { title: 'State', cell: (entry) => <StateBadge entry={entry} /> },
    {
      title: 'Owner',
      cell: ({ owner }) => (owner === null ? '–' : <IdentityText hex={owner} />),
    },
    {
      title: 'Rows',
      isNumber: true,
      cell: ({ rows }) => (rows === null ? '–' : countText(rows)),
    },
    {
      title: 'Memory',
      isNumber: true,
      cell: ({ memoryBytes }) => (memoryBytes === null ? '–' : bytesText(memoryBytes)),
    },
    {
      title: 'Calls/s',
      isNumber: true,
      cell: ({ identity, callsPerSecond }) =>
        callsPerSecond === null ? (
          '–'
        ) : (
          <Sparkline values={ratesOf(identity)} text={countText(Math.round(callsPerSecond))} />
        ),
    },
    { title: 'Last deploy', cell: ({ lastDeploy }) => <DeployCell deploy={lastDeploy} /> },
    {
      title: '',
      isNumber: true,
      cell: (entry) => (
        <Menu
          kind="plain"
          size="small"
          icon="more"
          aria-label={`Actions for ${entry.name}`}
          items={[
            {
              label: 'Delete…',
              icon: 'trash',
              isDanger: true,
              run: () => onDelete(entry),
            },
          ]}
        />
      ),
    },
  ];
}

function StateBadge({ entry: { state, health } }: { readonly entry: DatabaseEntry }) {
  if (state === null) return '–';
  const isPoor = health === 'degraded';
  const isFailed = health === 'failed' || state === 'failed';
  const kind = isFailed ? 'danger' : isPoor ? 'warn' : state === 'serving' ? 'good' : 'quiet';
  const title = isPoor
    ? 'It serves, but its health check fails: see its metrics and log.'
    : undefined;
  return (
    <Badge kind={kind} hasDot title={title}>
      {isPoor ? 'degraded' : state}
    </Badge>
  );
}

function DeployCell({ deploy }: { readonly deploy: DatabaseEntry['lastDeploy'] }) {
  if (deploy === null) return '–';
  return (
    <span className={styles.deploy}>
      #{deploy.number} {deploy.at !== '' && <Ago time={deploy.at} />}
    </span>
  );
}
