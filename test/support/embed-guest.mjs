// Tests run the sandbox's code as it is now.
export { embedGuest as setup } from '../../scripts/embed-guest.mjs';
