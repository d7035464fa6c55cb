import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Field, Input, Switch } from '../../parts/field.tsx';
import { bytesText, countText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty, Failure, Loading, Notice } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { type Backup, backUp, readBackups } from '../../service/backups.ts';
import type { ServiceError } from '../../service/http.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import styles from './backups.module.css';
import type { Start } from './backups-page.tsx';

const everyMillis = 5_000;

/** Backups of this database in a repository of the service, and taking one. */
export function Repository({ start }: { readonly start: Start }) {
  const { database, whyNot } = useDatabase();
  const [repository, setRepository] = useParam('repository');
  const [written, setWritten] = useState(repository);
  const [withHistory, setWithHistory] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ServiceError | null>(null);
  const take = async () => {
    setBusy(true);
    setFault(null);
    setRepository(written);
    setFault(await start(() => backUp(database, { repository: written, history: withHistory })));
    setBusy(false);
  };
  return (
    <Panel title="Backups in a repository">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          setRepository(written);
        }}
      >
        <div className={styles.field}>
          <Field label="Repository" note="as the service names it">
            {(control) => (
              <Input
                {...control}
                isData
                placeholder="the only one"
                value={written}
                onChange={(event) => setWritten(event.target.value.trim())}
              />
            )}
          </Field>
        </div>
        <Button isSubmit>List</Button>
        <Button
          kind="accent"
          icon="archive"
          off={whyNot('back_up')}
          isBusy={isBusy}
          onClick={() => void take()}
        >
          Back up now
        </Button>
        <Switch label="with all of the history" isOn={withHistory} onChange={setWithHistory} />
      </form>
      {fault !== null && (
        <Notice kind="danger" isAlert>
          The backup did not begin. {fault.message} {fault.hint}
        </Notice>
      )}
      <List repository={repository} />
    </Panel>
  );
}

function List({ repository }: { readonly repository: string }) {
  const { database, rights } = useDatabase();
  // Operators alone set quotas; an owner who is one has the role of an owner.
  const isOperator = rights.value?.may.set_quota === true;
  const backups = useLoad(
    isOperator ? `${database}\n${repository}` : null,
    (signal) => readBackups(repository, database, signal),
    { everyMillis },
  );
  if (!isOperator) {
    return (
      <Notice>
        What a repository holds is for operators. They see it here, or with{' '}
        <code>reducerdb backup list --repository {repository === '' ? 'NAME' : repository}</code>.
      </Notice>
    );
  }
  const { error } = backups;
  if (error?.status === 400 && repository === '') {
    return (
      <Empty icon="archive" title="No repository is chosen">
        {error.message}
      </Empty>
    );
  }
  if (error !== undefined) return <Failure error={error} onRetry={backups.reload} />;
  if (backups.value === undefined) return <Loading lines={3} />;
  if (backups.value.length === 0) {
    return (
      <Empty icon="archive" title="No backup of this database">
        The repository has none yet. “Back up now” sends what it does not have.
      </Empty>
    );
  }
  return <Table label="Backups" columns={columns} rows={backups.value} keyOf={({ id }) => id} />;
}

const columns: readonly TableColumn<Backup>[] = [
  { title: 'Backup', cell: ({ id }) => <code>{id}</code> },
  { title: 'Taken', cell: ({ millis }) => <Ago time={millis} /> },
  { title: 'Commit', isNumber: true, cell: ({ offset }) => countText(offset) },
  { title: 'Size', isNumber: true, cell: ({ totalBytes }) => bytesText(totalBytes) },
  { title: 'New', isNumber: true, cell: ({ newBytes }) => bytesText(newBytes) },
  { title: 'State', cell: ({ fault, testedMillis }) => stateOf(fault, testedMillis) },
];

function stateOf(fault: string | null, testedMillis: number | null) {
  if (fault !== null) return <Badge kind="danger">{fault}</Badge>;
  if (testedMillis !== null) return <Badge kind="good">tested</Badge>;
  return <Badge title="reducerdb backup verify --deep restores it to see">not tested</Badge>;
}
