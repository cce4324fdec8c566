// Days and times that the server shows on Sydney's clock, because it doesn't know the customer's
// state, are shown on the device's.
function showDeviceDays() {
  for (const time of document.querySelectorAll("time[data-zone-unknown]")) {
    delete time.dataset.zoneUnknown;
    const shown = { dateStyle: "long", timeStyle: "time" in time.dataset ? "short" : undefined };
    time.textContent = new Date(time.dateTime).toLocaleString(document.documentElement.lang, shown);
  }
}
showDeviceDays();
new MutationObserver(showDeviceDays).observe(document.body, { childList: true, subtree: true });
