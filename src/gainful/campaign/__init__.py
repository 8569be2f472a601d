"""ask, measure, tell: a campaign over time, and the journal that it is the replay of."""

from gainful.campaign.campaign import Campaign
from gainful.campaign.journal import FileJournal, Journal, MemoryJournal
from gainful.campaign.state import Entry
from gainful.campaign.stopping import GoodEnough, TooLittleToLearn
from gainful.campaign.why import Offer, Why

__all__ = [
    "Campaign",
    "Entry",
    "FileJournal",
    "GoodEnough",
    "Journal",
    "MemoryJournal",
    "Offer",
    "TooLittleToLearn",
    "Why",
]
