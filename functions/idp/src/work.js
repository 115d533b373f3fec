const form = document.querySelector('form[data-work]');
form.addEventListener('submit', async (event) => {
  const { submitter } = event;
  if (submitter?.value !== 'login' || form.elements.number.value) return;
  event.preventDefault();
  submitter.disabled = true;
  document.getElementById('working').hidden = false;
  const { work, bits } = form.dataset;
  const text = new TextEncoder();
  const tried = async (number) => {
    const digest = await crypto.subtle.digest('SHA-256', text.encode(`${work}.${number}`));
    return Math.clz32(new DataView(digest).getUint32(0)) >= Number(bits);
  };
  for (let from = 0; !form.elements.number.value; from += 512) {
    const found = (await Promise.all(Array.from({ length: 512 }, (_, place) => tried(from + place)))).indexOf(true);
    if (found >= 0) form.elements.number.value = from + found;
    // A turn for the page, so that it can be left.
    await new Promise((resolve) => setTimeout(resolve));
  }
  submitter.disabled = false;
  form.requestSubmit(submitter);
});
