import { type SyntheticEvent, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Field, Input } from '../../parts/field.tsx';
import { Panel } from '../../parts/page.tsx';
import { navigate, pageAddress } from '../../shell/router.tsx';

/** A way to a database for those to whom the service lists none. */
export function OpenDatabase() {
  const [name, setName] = useState('');
  const open = (event: SyntheticEvent) => {
    event.preventDefault();
    if (name.trim() !== '') navigate(pageAddress(name.trim(), 'data'));
  };
  return (
    <Panel title="Open a database">
      <form onSubmit={open}>
        <p>
          You are not signed in, so no databases are listed. What is public can be read by name.
        </p>
        <Field label="Name or identity of a database">
          {(control) => (
            <Input
              {...control}
              isData
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Button kind="accent" isSubmit off={name.trim() === '' && 'Type a name first'}>
          Open
        </Button>
      </form>
    </Panel>
  );
}
