import { type FormEvent, useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Field, Input, Select } from '../../parts/field.tsx';
import { IdentityText, shortIdentity } from '../../parts/identity.tsx';
import { Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain, say } from '../../parts/toast.tsx';
import {
  type Grant,
  grantedRoles,
  grantRole,
  readGrants,
  revokeRole,
} from '../../service/grants.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './access.module.css';

/** Who has a role; giving one and taking one away. */
export function Roles({ database }: { readonly database: string }) {
  const grants = useLoad(`grants ${database}`, (signal) => readGrants(database, signal));
  const [revoked, setRevoked] = useState<Grant | null>(null);
  const revoke = async ({ identity }: Grant) => {
    try {
      await revokeRole(database, identity);
      say(`${shortIdentity(identity)} has no role any more`);
      grants.reload();
    } catch (error) {
      complain('The role was not taken away', error);
    }
    setRevoked(null);
  };
  return (
    <>
      <Panel title="Give a role">
        <GrantForm database={database} onGranted={grants.reload} />
      </Panel>
      <Panel title="Roles" isBare>
        <WhenLoaded of={grants}>
          {(list) =>
            list.length === 0 ? (
              <Empty icon="user" title="Nobody has a role">
                Besides the owner. A reader sees private tables, a developer publishes, an admin
                writes by SQL and gives roles.
              </Empty>
            ) : (
              <GrantTable list={list} onRevoke={setRevoked} />
            )
          }
        </WhenLoaded>
      </Panel>
      {revoked !== null && (
        <Confirm
          title="Take this role away?"
          action="Take away"
          onConfirm={() => revoke(revoked)}
          onClose={() => setRevoked(null)}
        >
          <p>
            {shortIdentity(revoked.identity)} is {revoked.role}. Open connections of this identity
            are closed, and tokens that it made lose what it loses.
          </p>
        </Confirm>
      )}
    </>
  );
}

interface GrantTableProps {
  readonly list: readonly Grant[];
  readonly onRevoke: (grant: Grant) => void;
}

function GrantTable({ list, onRevoke }: GrantTableProps) {
  const { whyNot } = useDatabase();
  const columns: readonly TableColumn<Grant>[] = [
    { title: 'Identity', cell: ({ identity }) => <IdentityText hex={identity} /> },
    { title: 'Role', cell: ({ role }) => <Badge kind="accent">{role}</Badge> },
    { title: 'Given by', cell: ({ grantedBy }) => <IdentityText hex={grantedBy} /> },
    { title: 'When', cell: ({ at }) => <Ago time={at} /> },
    {
      title: '',
      isNumber: true,
      cell: (grant) => (
        <Button
          size="small"
          off={whyNot(grant.role === 'admin' ? 'grant_admin' : 'grant')}
          aria-label={`Take the role of ${shortIdentity(grant.identity)} away`}
          onClick={() => onRevoke(grant)}
        >
          Take away
        </Button>
      ),
    },
  ];
  return <Table label="Roles" columns={columns} rows={list} keyOf={({ identity }) => identity} />;
}

interface GrantFormProps {
  readonly database: string;
  readonly onGranted: () => void;
}

function GrantForm({ database, onGranted }: GrantFormProps) {
  const { whyNot } = useDatabase();
  const [identity, setIdentity] = useState('');
  const [role, setRole] = useState<string>(grantedRoles[0]);
  const [isBusy, setBusy] = useState(false);
  const hex = identity.trim().replace(/^0x/, '').toLowerCase();
  const isWhole = /^[0-9a-f]{64}$/.test(hex);
  const fault = identity !== '' && !isWhole ? 'An identity has 64 hex digits.' : undefined;
  const off =
    whyNot(role === 'admin' ? 'grant_admin' : 'grant') || (!isWhole && 'Name an identity');
  const give = async (event: FormEvent) => {
    event.preventDefault();
    if (off !== false || isBusy) return;
    setBusy(true);
    try {
      await grantRole(database, hex, role);
      say(`${shortIdentity(hex)} is ${role} now`);
      setIdentity('');
      onGranted();
    } catch (error) {
      complain('The role was not given', error);
    }
    setBusy(false);
  };
  return (
    <form className={styles.grant} onSubmit={give}>
      <Field label="Identity" note="as “reducerdb login show” prints it" error={fault}>
        {(control) => (
          <Input
            {...control}
            isData
            value={identity}
            placeholder="c200…"
            onChange={(event) => setIdentity(event.target.value)}
          />
        )}
      </Field>
      <Field label="Role">
        {(control) => (
          <Select {...control} value={role} onChange={(event) => setRole(event.target.value)}>
            {grantedRoles.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        )}
      </Field>
      <Button kind="accent" isSubmit off={off} isBusy={isBusy}>
        Give
      </Button>
    </form>
  );
}
