import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { PageFrame, Panel } from '../../parts/page.tsx';
import { Empty, Notice, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain, say } from '../../parts/toast.tsx';
import { type DeclaredEnv, type Env, type EnvValue, readEnv, unsetEnv } from '../../service/env.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './env.module.css';
import { SetDialog } from './set-dialog.tsx';

const everyMillis = 5_000;

/** One name: what is set, what the program declares, or both. */
interface Entry {
  readonly name: string;
  readonly set: EnvValue | undefined;
  readonly declared: DeclaredEnv | undefined;
}

/** The configuration of a database: values, and secrets whose values are never shown. */
export function Page({ database }: { readonly database: string }) {
  const { whyNot } = useDatabase();
  const [setting, setSetting] = useState<Entry | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const env = useLoad(database, (signal) => readEnv(database, signal), { everyMillis });
  const unset = async (name: string) => {
    try {
      await unsetEnv(database, name);
      say(`Deleted ${name}`);
    } catch (error) {
      complain(`${name} stays`, error);
    }
    setRemoving(null);
    env.reload();
  };
  return (
    <PageFrame
      title="Env"
      about="What functions of the module read. A change counts from the next call."
      actions={
        <Button
          kind="accent"
          icon="plus"
          off={whyNot('set_env')}
          onClick={() => setSetting({ name: '', set: undefined, declared: undefined })}
        >
          Set a value
        </Button>
      }
    >
      <WhenLoaded of={env}>
        {(all) => {
          const entries = entriesOf(all);
          return (
            <>
              <Missing of={entries} />
              <Panel isBare>
                {entries.length === 0 ? (
                  <Empty icon="env" title="Nothing is set">
                    A module declares what it reads with <code>db.env(…)</code>; set it here, or
                    with <code>reducerdb env set</code>.
                  </Empty>
                ) : (
                  <Table
                    label="Values and secrets"
                    columns={columnsOf({
                      off: whyNot('set_env'),
                      onSet: setSetting,
                      onUnset: setRemoving,
                    })}
                    rows={entries}
                    keyOf={({ name }) => name}
                  />
                )}
              </Panel>
            </>
          );
        }}
      </WhenLoaded>
      {setting !== null && (
        <SetDialog
          name={setting.name}
          isSecret={setting.set?.isSecret ?? setting.declared?.isSecret ?? false}
          value={setting.set?.value ?? ''}
          declared={env.value?.declared ?? []}
          onClose={() => setSetting(null)}
          onDone={() => {
            setSetting(null);
            env.reload();
          }}
        />
      )}
      {removing !== null && (
        <Confirm
          title={`Delete ${removing}`}
          action="Delete"
          onConfirm={() => unset(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>
            From the next call on, functions do not find it any more. A secret cannot be read back.
          </p>
        </Confirm>
      )}
    </PageFrame>
  );
}

function entriesOf({ values, declared }: Env): readonly Entry[] {
  const names = new Set([...values, ...declared].map(({ name }) => name));
  return [...names].sort().map((name) => ({
    name,
    set: values.find((each) => each.name === name),
    declared: declared.find((each) => each.name === name),
  }));
}

function Missing({ of }: { readonly of: readonly Entry[] }) {
  const missing = of.filter(({ set, declared }) => {
    return set === undefined && declared?.isOptional === false;
  });
  if (missing.length === 0) return null;
  return (
    <Notice kind="danger">
      The program needs {missing.map(({ name }) => name).join(', ')}, and nothing is set.
    </Notice>
  );
}

interface Actions {
  readonly off: string | false;
  readonly onSet: (entry: Entry) => void;
  readonly onUnset: (name: string) => void;
}

function columnsOf({ off, onSet, onUnset }: Actions): readonly TableColumn<Entry>[] {
  return [
    { title: 'Name', cell: ({ name }) => <code>{name}</code> },
    { title: 'Value', cell: ({ set }) => <Shown of={set} /> },
    { title: 'Declared', cell: ({ declared }) => declaredOf(declared) },
    {
      title: 'Set',
      cell: ({ set }) =>
        set === undefined ? (
          '–'
        ) : (
          <span className={styles.by}>
            <Ago time={set.setAt} /> <IdentityText hex={set.setBy} />
          </span>
        ),
    },
    {
      title: 'Actions',
      isNumber: true,
      cell: (entry) => (
        <span className={styles.actions}>
          <Button
            kind="plain"
            size="small"
            icon="edit"
            off={off}
            aria-label={`Set ${entry.name}`}
            onClick={() => onSet(entry)}
          />
          <Button
            kind="plain"
            size="small"
            icon="trash"
            off={off || (entry.set === undefined && 'Nothing is set.') || neededOf(entry)}
            aria-label={`Delete ${entry.name}`}
            onClick={() => onUnset(entry.name)}
          />
        </span>
      ),
    },
  ];
}

function neededOf({ declared }: Entry): string | false {
  return declared?.isOptional === false && 'The running program needs it.';
}

function Shown({ of }: { readonly of: EnvValue | undefined }) {
  if (of === undefined) return <Badge kind="warn">not set</Badge>;
  if (of.value === null) {
    return of.isReadable ? (
      <Badge title="Nobody can read it back">secret</Badge>
    ) : (
      <Badge kind="danger" title="Its key is missing, or it is damaged; set it again">
        unreadable secret
      </Badge>
    );
  }
  return (
    <span className={styles.value}>
      <code title={of.value}>{of.value === '' ? '(empty)' : of.value}</code>
      <Copy text={of.value} what={of.name} />
    </span>
  );
}

function declaredOf(declared: DeclaredEnv | undefined) {
  if (declared === undefined) return <span className={styles.quiet}>no</span>;
  const { type, isSecret, isOptional } = declared;
  return `${isSecret ? 'secret' : type}${isOptional ? ', optional' : ''}`;
}
