// Tests run the sandbox's code as it was when the run began.
export { embedGuest as setup } from '../../scripts/embed-guest.mjs';
